package openapi

import (
	"github.com/go-json-experiment/json/jsontext"

	"agentaudit/audit/jsontree"
)

// walker reads values of a wanted type and passes over all others. Each of its
// methods consumes exactly one value.
type walker struct {
	text string
	dec  *jsontext.Decoder
}

// kind is the type of the next value; errors are left to who reads it.
func (w *walker) kind() jsontree.Kind {
	switch w.dec.PeekKind() {
	case '{':
		return jsontree.Object
	case '[':
		return jsontree.Array
	case '"':
		return jsontree.String
	case '0':
		return jsontree.Number
	case 't', 'f':
		return jsontree.Bool
	}
	return jsontree.Null
}

// object calls member for each member, which is to consume its value. With nil
// the values are passed over.
func (w *walker) object(member func(name string, offset int) error) (isObject bool, err error) {
	if w.dec.PeekKind() != '{' {
		return false, w.skip()
	}
	if err := w.open(); err != nil {
		return true, err
	}
	for {
		kind := w.dec.PeekKind()
		if kind == '}' {
			break
		}
		if kind != '"' {
			// As a token: the decoder would read a whole value before it
			// objects to it as a name.
			if _, err := w.dec.ReadToken(); err != nil {
				return true, err
			}
		}
		raw, err := w.dec.ReadValue()
		if err != nil {
			return true, err
		}
		if member == nil {
			err = w.skip()
		} else {
			end := int(w.dec.InputOffset())
			err = member(jsontree.Unquote(w.text[end-len(raw):end]), end-len(raw))
		}
		if err != nil {
			return true, err
		}
	}
	_, err = w.dec.ReadToken()
	return true, err
}

// list calls item for each element, which is to consume it. With nil the
// elements are passed over.
func (w *walker) list(item func() error) (list, error) {
	if w.dec.PeekKind() != '[' {
		return odd, w.skip()
	}
	if err := w.open(); err != nil {
		return empty, err
	}
	found := empty
	for w.dec.PeekKind() != ']' {
		found = filled
		err := error(nil)
		if item == nil {
			err = w.skip()
		} else {
			err = item()
		}
		if err != nil {
			return found, err
		}
	}
	_, err := w.dec.ReadToken()
	return found, err
}

// string reads a string; anything else is "".
func (w *walker) string() (string, error) {
	if w.dec.PeekKind() != '"' {
		return "", w.skip()
	}
	raw, err := w.dec.ReadValue()
	if err != nil {
		return "", err
	}
	end := int(w.dec.InputOffset())
	return jsontree.Unquote(w.text[end-len(raw) : end]), nil
}

// isTrue reports whether the value is the boolean true.
func (w *walker) isTrue() (bool, error) {
	is := w.dec.PeekKind() == 't'
	return is, w.skip()
}

// open reads the start of a list or an object.
func (w *walker) open() error {
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	return jsontree.CheckDepth(w.dec)
}

// skip passes over one value, token by token: the decoder's own SkipValue
// allows ten times our depth.
func (w *walker) skip() error {
	depth := w.dec.StackDepth()
	for {
		t, err := w.dec.ReadToken()
		if err != nil {
			return err
		}
		switch t.Kind() {
		case '{', '[':
			if err := jsontree.CheckDepth(w.dec); err != nil {
				return err
			}
			continue
		}
		if w.dec.StackDepth() <= depth {
			return nil
		}
	}
}
