package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/agentstxt"
	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
	"agentaudit/store/storetest"
)

// own reads from a dashboard as from a site of the world.
type own struct{ s *Server }

func (o own) Fetch(_ context.Context, q fetch.Request) (*fetch.Response, error) {
	w := httptest.NewRecorder()
	o.s.Handler().ServeHTTP(w, httptest.NewRequest("GET", q.URL.String(), nil))
	res := w.Result()
	return &fetch.Response{URL: q.URL.String(), Status: res.StatusCode, Header: res.Header, ContentType: res.Header.Get("Content-Type"), Body: w.Body.Bytes(), Bytes: int64(w.Body.Len())}, nil
}

// What it asks of others it does: the service passes its own audit.
func TestTheServicePassesItsOwnAudit(t *testing.T) {
	x, _ := storetest.New(t)
	for public, base := range map[string]string{"https://audit.example": "", "https://tools.example/team/audit": "/team/audit"} {
		s := serve(t, Config{Store: x, Write: x, Users: testUsers(t, "anna"), PublicURL: public, BasePath: base})
		target, err := audit.ParseTarget(public+"/", "")
		if err != nil {
			t.Fatal(err)
		}
		bundle, err := audit.Collect(t.Context(), own{s}, target, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		r := audit.Judge(bundle)
		if r.Outcome != report.OutcomeSuccessful || len(r.Report.Publication.NextSteps) > 0 {
			t.Errorf("%s is %s (%s): %+v", public, r.Outcome, r.Detail, r.Report.Publication.NextSteps)
		}
		named := httptest.NewRecorder()
		s.Handler().ServeHTTP(named, httptest.NewRequest("GET", public+"/agentic.json", nil))
		if !strings.Contains(named.Body.String(), public+`/openapi.json"`) {
			t.Errorf("%s does not name its OpenAPI document: %s", public, named.Body)
		}
		// Whoever comes without sign-in sees these files and no others.
		for _, path := range []string{"/", "/batches", "/settings"} {
			w := httptest.NewRecorder()
			if s.Handler().ServeHTTP(w, httptest.NewRequest("GET", public+path, nil)); w.Code == http.StatusOK {
				t.Errorf("%s%s: %d", public, path, w.Code)
			}
		}
	}
	s := serve(t, Config{Store: x, PublicURL: "https://audit.example"})
	site, err := weburl.Parse("https://audit.example/")
	if err != nil {
		t.Fatal(err)
	}
	replies, err := agentstxt.Collect(t.Context(), own{s}, site, agentstxt.PipelineRequests)
	if err != nil {
		t.Fatal(err)
	}
	a := agentstxt.Judge(agentstxt.Input{Origin: "https://audit.example", Now: time.Now(), Replies: replies})
	if a.Verdict != agentstxt.VerdictValid {
		t.Errorf("agents.txt is %s: %+v", a.Verdict, a.Checks)
	}
	for _, c := range a.Checks {
		if c.Severity == "error" || c.Severity == "warning" {
			t.Errorf("agents.txt: %+v", c)
		}
	}
}

func TestNoPublicationWithoutHTTPS(t *testing.T) {
	x, _ := storetest.New(t)
	for _, c := range []Config{{Store: x}, {Store: x, PublicURL: "http://audit.example"}} {
		for _, path := range []string{"/agentic.json", "/agentic.txt", "/README.md", "/agents.txt", "/about.md"} {
			if res, body := get(t, serve(t, c), path); res.StatusCode != 404 || !strings.Contains(body, "Not found") {
				t.Errorf("%q %s: %d", c.PublicURL, path, res.StatusCode)
			}
		}
	}
}
