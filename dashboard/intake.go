package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/sitelist"
	"agentaudit/store"
	"agentaudit/worker/producer"
)

const (
	// longestPaste bounds a list that is typed or pasted, in bytes; it is held
	// in memory, uploaded files are not.
	longestPaste = 8 << 20
	// mostIntakes is how many lists are taken in at a time.
	mostIntakes = 4
	// longestIntake bounds the time for one list.
	longestIntake = 10 * time.Minute
	// draftLife is how long a list waits to be confirmed.
	draftLife = 24 * time.Hour
	// mostDrafts is how many lists may wait.
	mostDrafts = 100
	// mostUnpacked is how many times the bytes of a list may grow when it is
	// unpacked, and how many lines it may have for each that counts: a small
	// file can hold a billion blank lines.
	mostUnpacked = 4
)

// newList is a list that somebody hands in.
type newList struct {
	Name    string
	Options producer.Options
	Inputs  []producer.Input
	// Member is where the list stands in the body of a call, "" for a list that
	// is sent as it is.
	Member string
}

// errTooLong ends an intake.
var errTooLong = errors.New("the list is too long")

// takeList reads a list into a batch that waits to be started (or dropped), so
// that the list is needed only once. The error is an *HTTPError where the list
// is to blame; then nothing of it is kept.
func (s *Server) takeList(ctx context.Context, l newList) (*store.Batch, error) {
	return s.draft(ctx, l, func(ctx context.Context, id store.BatchID) error {
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		inputs := slices.Clone(l.Inputs)
		for i, in := range inputs {
			inputs[i] = in.Within(mostUnpacked*s.c.MaxUpload, mostUnpacked*s.c.MaxLines)
		}
		read, err := producer.Fill(ctx, s.c.Write, id, inputs, l.Options.List.Read, func(c producer.Counts) {
			if c.Lines > s.c.MaxLines {
				stop(errTooLong)
			}
		})
		if context.Cause(ctx) == errTooLong {
			return &HTTPError{Code: http.StatusRequestEntityTooLarge, Message: "The list has more than " + plural(s.c.MaxLines, "line", "lines") + ".", Advice: "Split it, or read it with agentaudit run, which has no such limit."}
		}
		if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return &HTTPError{Code: http.StatusRequestEntityTooLarge, Message: "The file is larger than " + size(big.Limit) + ".", Advice: "Compress it with gzip, split it, or read it with agentaudit run, which has no such limit.", Err: err}
		}
		if bad, ok := errors.AsType[*producer.ListError](err); ok {
			code := http.StatusUnprocessableEntity
			if errors.Is(err, sitelist.ErrTooLong) {
				code = http.StatusRequestEntityTooLarge
			}
			return &HTTPError{Code: code, Title: "The list cannot be read", Message: sentence(bad.Error()), Advice: "Nothing of it was kept. Correct it and send it again.", Err: err}
		}
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
			return &HTTPError{Code: http.StatusConflict, Message: "Somebody dropped this list while it was being read.", Advice: "Send it again if that was a mistake.", Err: err}
		}
		if err == nil && read.Lines == 0 {
			return &HTTPError{Code: http.StatusUnprocessableEntity, Message: "The list is empty: there is no site in it to audit.", Advice: "Nothing of it was kept."}
		}
		return err
	})
}

// draft makes a batch, lets fill fill it, and removes it again if that fails.
func (s *Server) draft(ctx context.Context, l newList, fill func(context.Context, store.BatchID) error) (*store.Batch, error) {
	select {
	case s.intakes <- struct{}{}:
		defer func() { <-s.intakes }()
	default:
		return nil, &HTTPError{Code: http.StatusServiceUnavailable, Message: "Several lists are being read at this moment.", Advice: "Try again in a minute."}
	}
	ctx, cancel := context.WithTimeout(ctx, longestIntake)
	defer cancel()
	if err := s.dropOldDrafts(ctx); err != nil {
		return nil, err
	}
	options, err := json.Marshal(l.Options)
	if err != nil {
		return nil, err
	}
	b, err := s.c.Write.CreateBatch(ctx, store.NewBatch{Name: l.Name, Sources: l.Options.List.SourceNames(), Options: options})
	if err != nil {
		return nil, err
	}
	if err := fill(ctx, b.ID); err != nil {
		return nil, errors.Join(err, s.c.Write.RemoveIntake(context.WithoutCancel(ctx), b.ID))
	}
	return s.c.Store.Batch(ctx, b.ID)
}

// NewPage takes a list.
type NewPage struct {
	Frame
	List      newList
	Pasted    string
	MaxUpload int64
	MaxLines  int64
}

// Formats are the forms that can be asked for.
func (p *NewPage) Formats() []Option {
	all := []Option{{Value: "", Words: "found out"}}
	for _, f := range sitelist.Formats {
		all = append(all, Option{Value: string(f), Words: string(f), Selected: p.List.Options.List.Read.Format == f})
	}
	return all
}

// discoverWord says which sites are scanned.
func discoverWord(d audit.Discover) string {
	switch d {
	case audit.DiscoverAlways:
		return "every site"
	case audit.DiscoverNever:
		return "no site"
	}
	return "sites without a valid agentic.json"
}

// Discovers are the choices of when to scan.
func (p *NewPage) Discovers() []Option {
	var all []Option
	for _, d := range audit.Discovers {
		all = append(all, Option{Value: string(d), Words: discoverWord(d), Selected: p.List.Options.Discover == d || p.List.Options.Discover == "" && d == audit.DiscoverMissing})
	}
	return all
}

// MoreOptions says that one of the options out of sight is set.
func (p *NewPage) MoreOptions() bool { return p.List.Options.List.Read != sitelist.Options{} }

func (s *Server) newPage(_ context.Context, r *Request, _ Reader) (*NewPage, error) {
	if err := r.Only(); err != nil {
		return nil, err
	}
	return s.emptyNewPage(), nil
}

func (s *Server) emptyNewPage() *NewPage {
	return &NewPage{Frame: Frame{Title: "New audit", Section: "new"}, MaxUpload: s.c.MaxUpload, MaxLines: s.c.MaxLines}
}

// pastedName is what a list is called that was typed or pasted, rawName what one
// is called that came without a name.
const (
	pastedName = "pasted list"
	rawName    = "list"
)

// newAudit takes the form of the page: its file is read as it comes, and
// stands last in it.
func (s *Server) newAudit(w http.ResponseWriter, r *http.Request) error {
	patient(w)
	r.Body = http.MaxBytesReader(w, slowly(w, r.Body), s.c.MaxUpload+longestPaste)
	form, err := r.MultipartReader()
	if err != nil {
		return &HTTPError{Code: http.StatusUnsupportedMediaType, Message: "The form has to be sent as multipart/form-data.", Err: err}
	}
	p := s.emptyNewPage()
	b, err := s.readNewList(r, form, p)
	if err == nil {
		err = s.hold(r.Context(), b)
	}
	if err != nil {
		field := "sites"
		if posted := p.List.Options.List.Posted; len(posted) > 0 && posted[len(posted)-1] != pastedName {
			field = "file" // which browsers do not fill in again
		}
		return s.again(w, s.request(r), blame(field, err), "new", p, "n-")
	}
	http.Redirect(w, r, s.links.Draft(b.ID), http.StatusSeeOther)
	return nil
}

// readNewList reads the parts of the form, and the list behind the others.
func (s *Server) readNewList(r *http.Request, form *multipart.Reader, p *NewPage) (*store.Batch, error) {
	l := &p.List
	read := &l.Options.List.Read
	for {
		part, err := form.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, badForm(err)
		}
		if part.FormName() == "file" {
			if part.FileName() == "" {
				continue // no file was chosen
			}
			l.Options.List.Posted = append(l.Options.List.Posted, uploadName(part.FileName()))
			l.Inputs = append(l.Inputs, producer.Reader(uploadName(part.FileName()), part))
			break
		}
		most := int64(longestForm)
		if part.FormName() == "sites" {
			most = longestPaste
		}
		data, err := io.ReadAll(io.LimitReader(part, most+1))
		if err != nil {
			return nil, badForm(err)
		}
		if int64(len(data)) > most {
			return nil, &HTTPError{Code: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("The field %.40q is longer than %s.", part.FormName(), size(most)), Field: part.FormName(), Advice: "Upload a long list as a file."}
		}
		value := string(data)
		if part.FormName() != "sites" {
			value = strings.TrimSpace(value)
		}
		switch part.FormName() {
		case "name":
			l.Name = value
		case "noAgents":
			l.Options.NoAgents = value != ""
		case "discover":
			l.Options.Discover = audit.Discover(value)
		case "ignoreRobots":
			l.Options.IgnoreRobots = value != ""
		case "format":
			read.Format = sitelist.Format(value)
		case "column":
			read.Column = value
		case "pointer":
			read.Pointer = value
		case "idColumn":
			read.IDColumn = value
		case "labelColumn":
			read.LabelColumn = value
		case "tagColumn":
			read.TagColumn = value
		case "readmeColumn":
			read.ReadmeColumn = value
		case "sites":
			p.Pasted = value
		default:
			return nil, badRequest("The form has no field %.40q.", part.FormName())
		}
	}
	if strings.TrimSpace(p.Pasted) != "" {
		l.Options.List.Posted = slices.Insert(l.Options.List.Posted, 0, pastedName)
		l.Inputs = slices.Insert(l.Inputs, 0, producer.Reader(pastedName, strings.NewReader(p.Pasted)))
	}
	return s.startTaking(r.Context(), *l)
}

// startTaking checks what stands around a list and takes it.
func (s *Server) startTaking(ctx context.Context, l newList) (*store.Batch, error) {
	read := l.Options.List.Read
	switch {
	case len(l.Inputs) == 0:
		return nil, blame("sites", badRequest("There is no list: paste some sites, or choose a file."))
	case len(l.Name) > longestName:
		return nil, blame("name", badRequest("The name has at most %d bytes.", longestName))
	case l.Options.Discover != "" && !slices.Contains(audit.Discovers, l.Options.Discover):
		return nil, blame("discover", unknown("choice of when to scan", string(l.Options.Discover), audit.Discovers))
	case read.Format != sitelist.FormatAuto && !slices.Contains(sitelist.Formats, read.Format):
		return nil, blame("format", unknown("format", string(read.Format), sitelist.Formats))
	}
	return s.takeList(ctx, l)
}

func badForm(err error) error {
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &HTTPError{Code: http.StatusRequestEntityTooLarge, Message: "The form is larger than " + size(big.Limit) + ".", Err: err}
	}
	return &HTTPError{Code: http.StatusBadRequest, Message: "The form ended too early or cannot be read.", Advice: "Send it again.", Err: err}
}

// uploadName is the last part of the name of a file, as it is kept.
func uploadName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	if len(name) > longestName {
		name = name[len(name)-longestName:]
	}
	return strings.ToValidUTF8(name, "")
}

// slowReader lets what is sent take its time, up to longestIntake, as long as it
// goes on.
type slowReader struct {
	io.ReadCloser
	w     http.ResponseWriter
	until time.Time
}

func slowly(w http.ResponseWriter, body io.ReadCloser) io.ReadCloser {
	return slowReader{body, w, time.Now().Add(longestIntake)}
}

func (s slowReader) Read(p []byte) (int, error) {
	next := time.Now().Add(time.Minute)
	if next.After(s.until) {
		next = s.until
	}
	// Without support for deadlines there is none to move.
	_ = http.NewResponseController(s.w).SetReadDeadline(next)
	return s.ReadCloser.Read(p)
}
