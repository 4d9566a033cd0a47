package dashboard

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/html"

	"agentaudit/dashboard/signin"
	"agentaudit/store/storetest"
)

const testPassword = "correct horse battery"

func testUsers(t testing.TB, names ...string) *signin.Users {
	t.Helper()
	hash, err := signin.Hash(testPassword)
	if err != nil {
		t.Fatal(err)
	}
	lines := ""
	for _, n := range names {
		lines += n + ":" + hash + "\n"
	}
	u, err := signin.Parse(lines)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// visitor is a browser without a window: it keeps cookies and follows nothing.
type visitor struct {
	t       testing.TB
	s       *Server
	cookies map[string]*http.Cookie
	header  http.Header
}

func visit(t testing.TB, s *Server) *visitor {
	return &visitor{t: t, s: s, cookies: map[string]*http.Cookie{}, header: http.Header{}}
}

func (v *visitor) send(r *http.Request) (*http.Response, string) {
	for _, c := range v.cookies {
		r.AddCookie(c)
	}
	for k, l := range v.header {
		r.Header[k] = l
	}
	w := httptest.NewRecorder()
	v.s.Handler().ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if v.cookies[c.Name] = c; c.MaxAge < 0 {
			delete(v.cookies, c.Name)
		}
	}
	return w.Result(), w.Body.String()
}

func (v *visitor) get(path string) (*http.Response, string) {
	return v.send(httptest.NewRequest("GET", "http://localhost"+path, nil))
}

func (v *visitor) post(path string, fields ...string) (*http.Response, string) {
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	r := httptest.NewRequest("POST", "http://localhost"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return v.send(r)
}

// page wants a page and gives it parsed.
func (v *visitor) page(path string) *html.Node {
	v.t.Helper()
	res, body := v.get(path)
	if res.StatusCode != 200 {
		v.t.Fatalf("%s: status %d\n%s", path, res.StatusCode, body)
	}
	return parsed(v.t, body)
}

func parsed(t testing.TB, body string) *html.Node {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// do sends a form and wants to be sent on; it gives where to.
func (v *visitor) do(path string, fields ...string) string {
	v.t.Helper()
	res, body := v.post(path, fields...)
	if res.StatusCode != http.StatusSeeOther {
		v.t.Fatalf("POST %s: status %d\n%s", path, res.StatusCode, body)
	}
	return res.Header.Get("Location")
}

func TestSignIn(t *testing.T) {
	x, clock := storetest.New(t)
	var log bytes.Buffer
	s := serve(t, Config{Store: x, Write: x, Now: clock.Now, BasePath: "/audit", Users: testUsers(t, "anna"), Log: slog.New(slog.NewTextHandler(&log, nil))})
	v := visit(t, s)
	for _, path := range []string{"/audit/", "/audit/batches?before=x", "/audit/settings", "/audit/events", "/audit/batches/x/results.csv", "/audit/nothing"} {
		res, body := v.get(path)
		if want := s.links.SignIn(path); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != want || strings.Contains(body, "Overview") {
			t.Errorf("%s: %d to %q, want %q", path, res.StatusCode, res.Header.Get("Location"), want)
		}
	}
	if res, _ := v.post("/audit/settings/tokens", "name", "x", "scope", "read", "days", "0"); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a token without sign-in: %d", res.StatusCode)
	}
	has(t, v.page("/audit/signin?next=/audit/settings"), "main", "Password")
	if res, body := v.post("/audit/signin", "name", "anna", "password", "wrong horse battery"); res.StatusCode != http.StatusUnauthorized || !strings.Contains(body, "do not belong together") || len(v.cookies) > 0 {
		t.Errorf("a wrong password: %d", res.StatusCode)
	}
	if next := v.do("/audit/signin", "name", "anna", "password", testPassword, "next", "/audit/settings"); next != "/audit/settings" {
		t.Errorf("it goes on at %s", next)
	}
	c := v.cookies["agentaudit"]
	if c == nil || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/audit/" || c.Secure || c.MaxAge != int(sessionLength.Seconds()) {
		t.Fatalf("the cookie is %+v", c)
	}
	has(t, v.page("/audit/settings"), "main p", "You are signed in as anna. A sign-in lasts seven days.")
	// A copy of the cookie is worth nothing after the sign-out.
	kept := *c
	if next := v.do("/audit/signout"); next != "/audit/signin" || len(v.cookies) > 0 {
		t.Errorf("signed out to %s with %v", next, v.cookies)
	}
	v.cookies["agentaudit"] = &kept
	if res, _ := v.get("/audit/"); res.StatusCode != http.StatusSeeOther {
		t.Errorf("the old cookie still opens: %d", res.StatusCode)
	}
	if said := log.String(); strings.Contains(said, "horse") || strings.Contains(said, kept.Value) || !strings.Contains(said, "a sign-in failed") {
		t.Errorf("the log: %s", said)
	}
}

func TestSessionsEnd(t *testing.T) {
	x, clock := storetest.New(t)
	users := testUsers(t, "anna", "bert")
	s := serve(t, Config{Store: x, Write: x, Now: clock.Now, Users: users})
	v := visit(t, s)
	v.do("/signin", "name", "bert", "password", testPassword)
	v.page("/")
	// Another password, and another process: whoever is not in the file is out.
	other := serve(t, Config{Store: x, Write: x, Now: clock.Now, Users: testUsers(t, "anna", "bert")})
	w := visit(t, other)
	w.cookies = v.cookies
	if res, _ := w.get("/"); res.StatusCode != http.StatusSeeOther {
		t.Errorf("a session outlived its password: %d", res.StatusCode)
	}
	clock.Add(sessionLength)
	if res, _ := v.get("/"); res.StatusCode != http.StatusSeeOther {
		t.Errorf("a session outlived its time: %d", res.StatusCode)
	}
}

func TestGuessingIsSlow(t *testing.T) {
	x, clock := storetest.New(t)
	s := serve(t, Config{Store: x, Write: x, Now: clock.Now, Users: testUsers(t, "anna")})
	v := visit(t, s)
	for i := range 5 {
		if res, _ := v.post("/signin", "name", "anna", "password", "guess number one"); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("attempt %d: %d", i, res.StatusCode)
		}
	}
	res, body := v.post("/signin", "name", "anna", "password", testPassword)
	if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" || !strings.Contains(body, "too many attempts") {
		t.Errorf("the sixth attempt: %d", res.StatusCode)
	}
	clock.Add(15 * time.Minute)
	v.do("/signin", "name", "anna", "password", testPassword)
}

// Guesses that come at once are no more than those that come one by one.
func TestGuessingAtOnceIsSlow(t *testing.T) {
	x, clock := storetest.New(t)
	handler := serve(t, Config{Store: x, Write: x, Now: clock.Now, Users: testUsers(t, "anna")}).Handler()
	var looked, refused atomic.Int64
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			r := httptest.NewRequest("POST", "http://localhost/signin", strings.NewReader("name=anna&password=guess+number+one"))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			switch w.Code {
			case http.StatusUnauthorized:
				looked.Add(1)
			case http.StatusTooManyRequests:
				refused.Add(1)
			}
		})
	}
	all.Wait()
	if looked.Load() != 5 || refused.Load() != 35 {
		t.Errorf("%d guesses were looked at, %d refused", looked.Load(), refused.Load())
	}
}

func TestCookiesBehindTLS(t *testing.T) {
	x, clock := storetest.New(t)
	s := serve(t, Config{Store: x, Write: x, Now: clock.Now, Users: testUsers(t, "anna"), PublicURL: "https://audit.example"})
	v := visit(t, s)
	v.do("/signin", "name", "anna", "password", testPassword)
	if c := v.cookies["__Host-agentaudit"]; c == nil || !c.Secure || c.Path != "/" {
		t.Errorf("cookies %v", v.cookies)
	}
	r := httptest.NewRequest("GET", "http://audit.example/", nil)
	if res, _ := v.send(r); res.StatusCode != 200 {
		t.Errorf("by its public name: %d", res.StatusCode)
	}
	plain := visit(t, serve(t, Config{Store: x, Write: x, Now: clock.Now, Users: testUsers(t, "anna")}))
	plain.header.Set("X-Forwarded-Proto", "https")
	plain.do("/signin", "name", "anna", "password", testPassword)
	if c := plain.cookies["__Host-agentaudit"]; c == nil || !c.Secure {
		t.Errorf("behind a proxy: %v", plain.cookies)
	}
}

// Every form refuses what the page of another origin sends.
func TestForgedForms(t *testing.T) {
	x, clock := storetest.New(t)
	s := serve(t, Config{Store: x, Write: x, Now: clock.Now, PublicURL: "https://audit.example"})
	for name, c := range map[string]struct {
		header http.Header
		ok     bool
	}{
		"fetch metadata of another site": {http.Header{"Sec-Fetch-Site": {"cross-site"}}, false},
		"of a sister host":               {http.Header{"Sec-Fetch-Site": {"same-site"}}, false},
		"another origin":                 {http.Header{"Origin": {"http://evil.example"}}, false},
		"an unknown origin":              {http.Header{"Origin": {"null"}}, false},
		"our own page":                   {http.Header{"Sec-Fetch-Site": {"same-origin"}}, true},
		"our own page in an old browser": {http.Header{"Origin": {"http://localhost"}}, true},
		"our own page by a proxy":        {http.Header{"Origin": {"https://audit.example"}}, true},
		"a program":                      {http.Header{}, true},
	} {
		v := visit(t, s)
		v.header = c.header
		res, body := v.post("/settings/tokens", "name", name, "scope", "read", "days", "30")
		if ok := res.StatusCode == http.StatusCreated; ok != c.ok || (!ok && (res.StatusCode != http.StatusForbidden || strings.Contains(body, "aat_"))) {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
	}
	if list, err := x.Tokens(t.Context()); err != nil || len(list) != 4 {
		t.Errorf("%d tokens, %v", len(list), err)
	}
}

func TestNobodyIsSentElsewhere(t *testing.T) {
	x, clock := storetest.New(t)
	for _, base := range []string{"", "/audit"} {
		s := serve(t, Config{Store: x, Write: x, Now: clock.Now, BasePath: base, Users: testUsers(t, "anna")})
		for _, next := range []string{"https://evil.example/", "//evil.example", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)", "/\t/evil.example", "http:evil", "///evil.example", base + "//evil.example/..", "evil", "/audit@evil.example", ""} {
			got := visit(t, s).do(base+"/signin", "name", "anna", "password", testPassword, "next", next)
			if u, err := url.Parse(got); err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(got, base+"/") || strings.HasPrefix(got, "//") || strings.Contains(got, "\\") {
				t.Errorf("next=%q leads to %q", next, got)
			}
		}
	}
}

func TestTokens(t *testing.T) {
	x, clock := storetest.New(t)
	s := serve(t, Config{Store: x, Write: x, Now: clock.Now, Users: testUsers(t, "anna")})
	v := visit(t, s)
	v.do("/signin", "name", "anna", "password", testPassword)
	secrets := map[string]string{}
	for _, scope := range []string{"read", "write"} {
		res, body := v.post("/settings/tokens", "name", "for "+scope, "scope", scope, "days", "30")
		m := regexp.MustCompile(`aat_[a-z0-9]{20,}`).FindString(body)
		if res.StatusCode != http.StatusCreated || m == "" {
			t.Fatalf("%s: %d", scope, res.StatusCode)
		}
		secrets[scope] = m
	}
	_, body := v.get("/settings")
	if strings.Contains(body, "aat_") || !strings.Contains(body, "for write") {
		t.Error("a secret is shown twice, or a token is missing")
	}
	program := func(secret string) *visitor {
		p := visit(t, s)
		p.header.Set("Authorization", "Bearer "+secret)
		return p
	}
	for _, scope := range []string{"read", "write"} {
		if res, _ := program(secrets[scope]).get("/batches"); res.StatusCode != 200 {
			t.Errorf("%s: %d", scope, res.StatusCode)
		}
	}
	if res, _ := program(secrets["read"]).post("/settings/tokens", "name", "x", "scope", "write", "days", "0"); res.StatusCode != http.StatusForbidden {
		t.Errorf("a token for reading made one for writing: %d", res.StatusCode)
	}
	if res, _ := program(secrets["write"]).post("/settings/tokens", "name", "x", "scope", "read", "days", "0"); res.StatusCode != http.StatusCreated {
		t.Errorf("a token for writing: %d", res.StatusCode)
	}
	for _, wrong := range []string{"", "aat_x", secrets["read"] + "x"} {
		if res, _ := program(wrong).get("/"); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%q: %d", wrong, res.StatusCode)
		}
	}
	list, err := x.Tokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range list {
		if token.Name == "for read" {
			v.do("/settings/tokens/" + token.ID + "/revoke")
		}
	}
	if res, _ := program(secrets["read"]).get("/"); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a revoked token: %d", res.StatusCode)
	}
	has(t, v.page("/settings"), ".notice", "The token was revoked; whoever still uses it is refused.")
	if len(find(v.page("/settings"), ".notice.done")) > 0 {
		t.Error("the notice is shown twice")
	}
	clock.Add(31 * 24 * time.Hour)
	if res, _ := program(secrets["write"]).get("/"); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("an expired token: %d", res.StatusCode)
	}
	for _, c := range [][]string{{"name", ""}, {"name", strings.Repeat("x", 200), "scope", "read", "days", "1"}, {"name", "x", "scope", "all", "days", "1"}, {"name", "x", "scope", "read", "days", "-1"}, {"name", "x", "scope", "read"}} {
		if res, _ := visit(t, serve(t, Config{Store: x, Write: x})).post("/settings/tokens", c...); res.StatusCode != http.StatusBadRequest {
			t.Errorf("%q: %d", c, res.StatusCode)
		}
	}
	if res, _ := visit(t, s).post("/signin", "name", "anna", "password", strings.Repeat("x", 2*longestForm)); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("an endless password: %d", res.StatusCode)
	}
}

func TestWithoutAStoreToWriteTo(t *testing.T) {
	x, _ := storetest.New(t)
	s := serve(t, Config{Store: x})
	doc := read(t, s, "/settings")
	has(t, doc, "main p", "This dashboard was started only for reading, so that no tokens can be made.")
	if len(find(doc, "main form")) > 0 {
		t.Error("there is a form that can do nothing")
	}
	if res, _ := visit(t, s).post("/settings/tokens", "name", "x", "scope", "read", "days", "0"); res.StatusCode != http.StatusForbidden {
		t.Errorf("status %d", res.StatusCode)
	}
	if _, err := New(Config{Store: x, Users: testUsers(t, "anna")}); err == nil {
		t.Error("users without a place for sessions")
	}
	has(t, read(t, s, "/signin"), "main p", "Nobody has to sign in to this dashboard.")
}

func TestPublicURL(t *testing.T) {
	x, _ := storetest.New(t)
	for _, bad := range []string{"audit.example", "ftp://audit.example", "https://", "https://a.example/other", "https://u:p@a.example", "https://a.example?x=1", "https://a.example#x"} {
		if s, err := New(Config{Store: x, PublicURL: bad}); err == nil {
			s.Close()
			t.Errorf("%s was accepted", bad)
		}
	}
	serve(t, Config{Store: x, PublicURL: "https://a.example/team/", BasePath: "/team"})
}

func TestRemoteAddress(t *testing.T) {
	for _, c := range []struct{ remote, forwarded, want string }{
		{"203.0.113.9:1", "", "203.0.113.9"},
		{"203.0.113.9:1", "198.51.100.1", "203.0.113.9"}, // it is no proxy of ours
		{"127.0.0.1:1", "", "127.0.0.1"},
		{"127.0.0.1:1", "10.0.0.1, 198.51.100.1", "198.51.100.1"},
		{"127.0.0.1:1", "10.0.0.1\n198.51.100.1", "198.51.100.1"}, // lines of the client and of the proxy
		{"[::1]:1", "nonsense", "::1"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.remote
		if c.forwarded != "" {
			r.Header["X-Forwarded-For"] = strings.Split(c.forwarded, "\n")
		}
		if got := remoteAddress(r); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
