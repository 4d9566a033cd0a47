package dashboard

import (
	"html/template"
	"net/http"
)

// Wrong is what was wrong with the form that was sent. Field is the name of the
// field that is to blame, "" for none; ID is its id on the page.
type Wrong struct{ Field, ID, Message, Advice string }

// Bad are the attributes of a field: those of one that is to blame lead the
// reader to it.
func (f *Frame) Bad(field string) template.HTMLAttr {
	if f.At(field) == nil {
		return ""
	}
	return `aria-invalid="true" aria-describedby="wrong" autofocus`
}

// At is what is wrong with a field, nil for nothing.
func (f *Frame) At(field string) *Wrong {
	if f.Wrong == nil || f.Wrong.Field != field {
		return nil
	}
	return f.Wrong
}

// blame is an error with the field that is to blame, unless it is a failure of
// ours.
func blame(field string, err error) error {
	e := *explain(err)
	if e.Field == "" && e.Code < 500 {
		e.Field = field
	}
	return &e
}

// again shows the page of a form once more, filled in as it was sent, with what
// is wrong. prefix begins the ids of its fields. Failures of ours are no fault of
// the form.
func (s *Server) again(w http.ResponseWriter, q *Request, err error, name string, p framed, prefix string) error {
	e := explain(err)
	if e.Code >= 500 {
		return err
	}
	wrong := &Wrong{Field: e.Field, Message: e.Message, Advice: e.Advice}
	if e.Field != "" {
		wrong.ID = prefix + e.Field
	}
	p.frame().Wrong = wrong
	return s.show(w, e.Code, name, p, q)
}
