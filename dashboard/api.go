package dashboard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"agentaudit/store"
)

// apiPath is where the HTTP API lives below the base path: everything that the
// pages do, as JSON. A path that is not served fails as a problem, too.
const apiPath = "/api/v1"

// endpoint is one operation of the API; the table of them is what is served and
// what /openapi.json describes.
type endpoint struct {
	method, path string
	need         need
	summary      string
	// query are the parameters, named in apiParameters.
	query []string
	// body is the schema of the JSON that is sent, "" for none. long says that
	// the work may take as long as an intake.
	body string
	long bool
	// fields are the members of the body that have another name in the form of
	// the page, by that name.
	fields map[string]string
	// status and answer are the code and the schema of the answer, answer ""
	// for one without a body.
	status int
	answer string
	// secret says that the answer is given once and never kept.
	secret bool
	// file is the media type of an answer that is a file, which serve gives
	// instead of do.
	file  string
	serve func(s *Server, w http.ResponseWriter, r *http.Request) error
	do    func(ctx context.Context, s *Server, r *apiRequest) (any, error)
}

// apiRequest is a call of the API.
type apiRequest struct {
	*Request
	w    http.ResponseWriter
	http *http.Request
	// location is where what was made can be found, to be set by who makes it.
	location string
}

// longestJSON bounds a JSON body, in bytes. Longer lists are sent as they are.
const longestJSON = 8 << 20

// named is an error with the name that the field to blame has in the API.
func (e *endpoint) named(err error) error {
	bad, ok := errors.AsType[*HTTPError](err)
	if !ok || e.fields[bad.Field] == "" {
		return err
	}
	renamed := *bad
	renamed.Field = e.fields[bad.Field]
	return &renamed
}

// body decodes the JSON body. Unknown members are errors: a misspelled option
// must not be passed over.
func (r *apiRequest) body(to any) error {
	if t, _, err := mime.ParseMediaType(r.http.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return &HTTPError{Code: http.StatusUnsupportedMediaType, Message: "The body must be JSON.", Advice: "Send it with Content-Type: application/json."}
	}
	d := json.NewDecoder(http.MaxBytesReader(r.w, r.http.Body, longestJSON))
	d.DisallowUnknownFields()
	err := d.Decode(to)
	if err == nil {
		if _, err = d.Token(); err == io.EOF {
			return nil
		}
		err = errors.New("something follows the JSON value")
	}
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &HTTPError{Code: http.StatusRequestEntityTooLarge, Message: "The body is larger than " + size(big.Limit) + ".", Advice: "Send long lists as they are, with their own Content-Type.", Err: err}
	}
	bad := &HTTPError{Code: http.StatusBadRequest, Message: "The body cannot be read: " + sentence(strings.TrimPrefix(err.Error(), "json: ")), Err: err}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		bad.Message = fmt.Sprintf("The body cannot be read: it is not JSON from byte %d on: %s", syntax.Offset, sentence(syntax.Error()))
	} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		bad.Message = "The body cannot be read: it ends before the JSON value does."
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		bad.Field = wrong.Field[strings.LastIndex(wrong.Field, ".")+1:] // behind the names of embedded structs
		bad.Message = "The body cannot be read: " + typeError(wrong, bad.Field)
	} else if m := unknownMember.FindStringSubmatch(err.Error()); m != nil {
		bad.Field = m[1]
	}
	return bad
}

// typeError says in the words of JSON, not of the program, that something is of
// another type than it must be.
func typeError(e *json.UnmarshalTypeError, field string) string {
	what, is := "the body", e.Value
	if field != "" {
		what = "the member " + field
	}
	is, _, _ = strings.Cut(is, " ") // "number 1.5"
	if is == "bool" {
		is = "boolean"
	}
	must := "of another type"
	t := e.Type
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t != nil {
		switch t.Kind() {
		case reflect.String:
			must = "a string"
		case reflect.Bool:
			must = "true or false"
		case reflect.Slice, reflect.Array:
			must = "an array"
		case reflect.Struct, reflect.Map:
			must = "an object"
		case reflect.Float32, reflect.Float64:
			must = "a number"
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			must = "a whole number"
			if is == "number" {
				return fmt.Sprintf("%s must be %s within bounds, not %s.", what, must, strings.TrimPrefix(e.Value, "number "))
			}
		}
	}
	return fmt.Sprintf("%s must be %s; it is of the type %s.", what, must, is)
}

// unknownMember is the error of package json for a member that is not known.
var unknownMember = regexp.MustCompile(`unknown field "([^"]{1,100})"`)

// limit is the parameter of that name.
func (r *apiRequest) limit() (int, error) {
	raw := r.Query.Get("limit")
	if raw == "" {
		return 100, nil
	}
	n, err := strconv.Atoi(raw)
	if err != nil || n < 1 || n > store.MaxPage {
		return 0, blame("limit", badRequest("The parameter limit is a number from 1 to %d, not %.40q.", store.MaxPage, raw))
	}
	return n, nil
}

// mountAPI serves the endpoints and their description.
func (s *Server) mountAPI(mux *http.ServeMux) {
	s.handle(mux, "GET /openapi.json", open, func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Content-Type", "application/json")
		// A description is for all, and pages of documentation fetch it.
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		_, _ = w.Write(s.apiDoc)
		return nil
	})
	for _, e := range endpoints {
		if e.serve != nil {
			s.handle(mux, e.method+" "+apiPath+e.path, e.need, func(w http.ResponseWriter, r *http.Request) error { return e.serve(s, w, r) })
			continue
		}
		s.handle(mux, e.method+" "+apiPath+e.path, e.need, func(w http.ResponseWriter, r *http.Request) error { return s.call(w, r, e) })
	}
}

// call serves one call.
func (s *Server) call(w http.ResponseWriter, r *http.Request, e endpoint) error {
	q := &apiRequest{Request: s.request(r), w: w, http: r}
	if err := q.Only(e.query...); err != nil {
		return err
	}
	patience := s.c.PageTimeout
	if e.long {
		patience = longestIntake
	}
	if r.Method == http.MethodPost {
		// Bodies come over slow lines, too, and are read to their end before the
		// answer, whatever they are for.
		patient(w)
		r.Body = slowly(w, r.Body)
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	key := r.Header.Get("Idempotency-Key")
	if r.Method != http.MethodPost || key == "" {
		v, err := e.do(ctx, s, q)
		if err != nil {
			return e.named(err)
		}
		return s.answer(w, e, v, q.location)
	}
	return s.callOnce(ctx, e, q, key)
}

// callOnce serves a call that may be sent again under the same key, as the
// draft draft-ietf-httpapi-idempotency-key-header has it: it is done once, and
// answered alike each time.
func (s *Server) callOnce(ctx context.Context, e endpoint, q *apiRequest, key string) error {
	if len(key) > 255 || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		return badRequest("The header Idempotency-Key has at most 255 printable ASCII characters.")
	}
	scope := q.Who.key() + "\x00" + key
	before, err := s.c.Write.BeginAnswer(ctx, scope)
	if errors.Is(err, store.ErrConflict) {
		q.w.Header().Set("Retry-After", strconv.Itoa(int(stillHere.Seconds())))
		return &HTTPError{Code: http.StatusConflict, Message: "A request with this Idempotency-Key is under way.", Err: err,
			Advice: "Send it again in a while: it is answered as the first one, or done if that one was cut off."}
	}
	if err != nil {
		return err
	}
	sum := fingerprint(q.http)
	q.http.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(q.http.Body, sum), q.http.Body}
	if before != nil {
		return s.repeat(e, q, before, sum)
	}
	// Also when the caller has left: the work is done, and the next call with
	// this key must hear of it.
	after := context.WithoutCancel(ctx)
	ended := false
	defer s.keepAnswer(after, scope)()
	end := func(a *store.Answer) {
		ended = true
		if err := s.c.Write.EndAnswer(after, scope, a); err != nil {
			s.c.Log.ErrorContext(ctx, "what came of a request with an Idempotency-Key was not kept", "url", s.logged(q.http), "done", a != nil, "err", err)
		}
	}
	defer func() {
		if !ended { // it failed, or panics: it may be sent again under this key
			end(nil)
		}
	}()
	v, err := e.do(ctx, s, q)
	if err != nil {
		return e.named(err)
	}
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(q.w, q.http.Body, s.c.MaxUpload)); err != nil {
		s.c.Log.InfoContext(ctx, "the rest of a request was not read", "err", err)
	}
	body, err := encode(v)
	if err != nil {
		return err
	}
	kept := &store.Answer{Fingerprint: hex.EncodeToString(sum.Sum(nil)), Status: e.status, Location: q.location, Body: body}
	if e.secret {
		kept.Body = nil
	}
	end(kept)
	return write(q.w, e.status, body, q.location)
}

// stillHere is how often a request with a key says that it is under way. The key
// is free soon after the last time, so that one that was killed does not hold it.
const stillHere = 15 * time.Second

// keepAnswer says so until the function that it gives is called.
func (s *Server) keepAnswer(ctx context.Context, scope string) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(stillHere)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := s.c.Write.KeepAnswer(ctx, scope); err != nil && ctx.Err() == nil {
				s.c.Log.WarnContext(ctx, "a request with an Idempotency-Key could not say that it is under way", "err", err)
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// fingerprint begins the hash that tells whether a request is the same; the
// body is added as it is read.
func fingerprint(r *http.Request) hash.Hash {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %s %s\n", r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"))
	return sum
}

// repeat answers as before, if the request is the same.
func (s *Server) repeat(e endpoint, q *apiRequest, before *store.Answer, sum hash.Hash) error {
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(q.w, q.http.Body, s.c.MaxUpload)); err != nil {
		return badForm(err)
	}
	switch {
	case hex.EncodeToString(sum.Sum(nil)) != before.Fingerprint:
		return &HTTPError{Code: http.StatusUnprocessableEntity, Message: "The header Idempotency-Key was used for another request.", Advice: "Take a new key for each request, and the same one only to send it again."}
	case e.secret:
		return &HTTPError{Code: http.StatusConflict, Message: "This was done already, and its secret is shown once.", Advice: "Revoke what was made, and make it again under a new key."}
	}
	q.w.Header().Set("Idempotency-Replayed", "true")
	return write(q.w, before.Status, before.Body, before.Location)
}

func (s *Server) answer(w http.ResponseWriter, e endpoint, v any, location string) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	return write(w, e.status, body, location)
}

// encode is JSON without the escapes that are for HTML; nil is no body.
func encode(v any) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	return b.Bytes(), nil
}

func write(w http.ResponseWriter, status int, body []byte, location string) error {
	if location != "" {
		w.Header().Set("Location", location)
	}
	w.Header().Set("Cache-Control", "no-store")
	if body != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // who has left needs no answer
	return nil
}

// Problem is an error as the API tells it (RFC 9457). Advice says what to do,
// RequestID by what word the failure is found in the log.
type Problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Advice    string `json:"advice,omitempty"`
	RequestID string `json:"requestId,omitempty"`
	// Field is the member of the body, or the parameter, that is to blame.
	Field string `json:"field,omitempty"`
}

// isAPI reports whether a program asks, which wants a problem and no page.
func (s *Server) isAPI(r *http.Request) bool {
	return r != nil && strings.HasPrefix(strings.TrimPrefix(r.URL.Path, s.links.base)+"/", apiPath+"/")
}

// problem answers with a problem.
func (s *Server) problem(w http.ResponseWriter, e *HTTPError, id string) {
	body, err := encode(Problem{Type: "about:blank", Title: http.StatusText(e.Code), Status: e.Code, Detail: e.Message, Advice: e.Advice, RequestID: id, Field: e.Field})
	if err != nil {
		body = []byte(`{"type":"about:blank","title":"Internal Server Error","status":500}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Disposition")
	if e.Code == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="agentaudit"`)
	}
	w.WriteHeader(e.Code)
	_, _ = w.Write(body)
}

// asOf is the moment for which numbers are true.
func (r *apiRequest) asOf() time.Time { return r.Now.UTC() }
