package dashboard

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agentaudit/store"
	"agentaudit/store/storetest"
)

// troubled is a store that breaks in one place.
type troubled struct {
	*store.Store
	create func()
	end    func(a *store.Answer) error
}

func (x troubled) CreateBatch(ctx context.Context, b store.NewBatch) (*store.Batch, error) {
	if x.create != nil {
		x.create()
	}
	return x.Store.CreateBatch(ctx, b)
}

func (x troubled) EndAnswer(ctx context.Context, key string, a *store.Answer) error {
	if x.end != nil {
		if err := x.end(a); err != nil {
			return err
		}
	}
	return x.Store.EndAnswer(ctx, key, a)
}

var oneSite = map[string]any{"urls": []string{"a.example"}}

// A handler that breaks down gives the key back.
func TestIdempotencyAfterAPanic(t *testing.T) {
	x, clock := storetest.New(t)
	broken := true
	p := newProgram(t, serve(t, Config{Store: x, Now: clock.Now, Write: troubled{Store: x, create: func() {
		if broken {
			panic("the disk is on fire")
		}
	}}}))
	p.key = "k"
	p.do("POST", "/batches", oneSite, 500, nil)
	broken = false
	p.do("POST", "/batches", oneSite, 201, nil)
}

// What was done is answered, also where the answer cannot be kept.
func TestIdempotencyWithoutAPlaceForAnswers(t *testing.T) {
	x, clock := storetest.New(t)
	p := newProgram(t, serve(t, Config{Store: x, Now: clock.Now, Write: troubled{Store: x, end: func(*store.Answer) error { return errors.New("no room") }}}))
	p.key = "k"
	p.do("POST", "/batches", oneSite, 201, nil)
	if list, err := x.Batches(t.Context(), "", 10); err != nil || len(list) != 1 {
		t.Errorf("%d batches, %v", len(list), err)
	}
	p.key = "l"
	p.do("POST", "/batches", map[string]any{"urls": []string{}}, 400, nil)
}

// Who sends a request again while it is under way hears when to come back.
func TestIdempotencyWhileItIsUnderWay(t *testing.T) {
	x, clock := storetest.New(t)
	var p *program
	nested := false
	p = newProgram(t, serve(t, Config{Store: x, Now: clock.Now, Write: troubled{Store: x, create: func() {
		if nested {
			return
		}
		nested = true
		res, body := p.call("POST", "/batches", oneSite, "")
		if res.StatusCode != 409 || res.Header.Get("Retry-After") != "15" || !strings.Contains(body, "under way") {
			t.Errorf("%d, Retry-After: %s, %s", res.StatusCode, res.Header.Get("Retry-After"), body)
		}
	}}}))
	p.key = "k"
	p.do("POST", "/batches", oneSite, 201, nil)
	if list, err := x.Batches(t.Context(), "", 10); !nested || err != nil || len(list) != 1 {
		t.Errorf("%d batches, %v", len(list), err)
	}
}

// Two tokens of one name do not get each other's answers.
func TestIdempotencyGoesByToken(t *testing.T) {
	x, clock := storetest.New(t)
	s := serve(t, Config{Store: x, Write: x, Now: clock.Now, Users: testUsers(t, "bot")})
	var ids []string
	for range 2 {
		secret, _, err := x.NewToken(t.Context(), store.Token{Name: "bot", Scope: store.ScopeWrite})
		if err != nil {
			t.Fatal(err)
		}
		p := newProgram(t, s)
		p.key = "k"
		p.header.Set("Authorization", "Bearer "+secret)
		var made struct{ ID string }
		p.do("POST", "/batches", oneSite, 201, &made)
		ids = append(ids, made.ID)
	}
	if ids[0] == ids[1] {
		t.Errorf("both got batch %s", ids[0])
	}
}

// deadlines notes how an answer moves the deadlines of its connection.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error  { d.read = at; return nil }
func (d *deadlines) SetWriteDeadline(at time.Time) error { d.write = at; return nil }

// dripping is a body of some bytes at a time, each of which wants the deadline
// to have been moved.
type dripping struct {
	io.Reader
	t *testing.T
	d *deadlines
}

func (b dripping) Read(p []byte) (int, error) {
	if b.d.read.IsZero() {
		b.t.Error("the body is read without a new deadline")
	}
	b.d.read = time.Time{}
	return b.Reader.Read(p[:min(len(p), 100)])
}

// Bodies may come over slow lines, whoever reads them, and the answer has its
// time behind them.
func TestSlowBodies(t *testing.T) {
	x, clock := storetest.New(t)
	handler := serve(t, Config{Store: x, Write: x, Now: clock.Now}).Handler()
	list := strings.Repeat("a.example\n", 1000)
	for _, c := range []struct{ name, path, mediaType, body string }{
		{"a list", "/batches", "text/plain", list},
		{"the list again", "/batches", "text/plain", list}, // only its fingerprint is looked at
		{"a body that is not needed", "/batches/none/start", "text/plain", list},
		{"JSON", "/batches", "application/json", `{"list":"` + strings.ReplaceAll(list, "\n", `\n`) + `"}`},
	} {
		d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest("POST", "http://localhost"+apiPath+c.path, dripping{strings.NewReader(c.body), t, d})
		r.Header.Set("Content-Type", c.mediaType)
		r.Header.Set("Idempotency-Key", c.mediaType)
		start := time.Now()
		handler.ServeHTTP(d, r)
		if d.Code >= 400 && !strings.Contains(c.path, "none") {
			t.Errorf("%s: %d %s", c.name, d.Code, d.Body)
		}
		if d.write.Before(start.Add(longestIntake)) {
			t.Errorf("%s: the answer has until %s after the start", c.name, d.write.Sub(start))
		}
	}
	if list, err := x.Batches(t.Context(), "", 10); err != nil || len(list) != 2 {
		t.Errorf("%d batches, %v", len(list), err)
	}
}
