package dashboard

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
	"agentaudit/worker/producer"
)

// upload sends the form of the page for a new audit; fields are names and
// values, the file comes last where it has a name.
func (v *visitor) upload(file string, content []byte, fields ...string) (*http.Response, string) {
	v.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := 0; i < len(fields); i += 2 {
		if err := w.WriteField(fields[i], fields[i+1]); err != nil {
			v.t.Fatal(err)
		}
	}
	part, err := w.CreateFormFile("file", file) // browsers send it also where none was chosen
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		v.t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "http://localhost"+v.s.links.New(), &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	return v.send(r)
}

func TestNewAudit(t *testing.T) {
	x, clock := storetest.New(t)
	s := serve(t, Config{Store: x, Write: x, Now: clock.Now})
	v := visit(t, s)
	csv := "homepage,name,slug,tags\nOne.example,One,first,a b\nnot a site,Two,,\none.example,Again,,\n"
	res, body := v.upload("shops.csv", []byte(csv), "name", " My shops ", "sites", "three.example\n# a comment\n", "noAgents", "1", "discover", "always", "ignoreRobots", "1", "format", "", "column", "homepage")
	if res.StatusCode != http.StatusSeeOther {
		t.Fatalf("status %d: %s", res.StatusCode, body)
	}
	draft := res.Header.Get("Location")
	doc := v.page(draft)
	want(t, doc, "h1", "My shops")
	want(t, doc, "#understood", "3 lines were accepted")
	for _, fact := range []string{"Frompasted list, shops.csv", "Lines4", "Distinct sites2", "agents.txtleft out"} {
		has(t, doc, ".facts div", fact)
	}
	has(t, doc, "tbody tr", "2 One.example https://one.example/agentic.json One first a b")
	has(t, doc, "tbody tr", "4 one.example https://one.example/agentic.json repeated Again")
	has(t, doc, "tbody tr", "shops.csv:3 not a site")
	id := store.BatchID(strings.TrimPrefix(draft, "/new/"))
	// Nothing is audited yet, and the list shows as what it is.
	if due, err := x.TakeDue(t.Context(), store.ClassSmall, 10); err != nil || len(due) != 0 {
		t.Errorf("audited before it was confirmed: %v, %v", due, err)
	}
	has(t, v.page("/batches/"+string(id)), ".note", "This list waits to be confirmed. Look at it and start the audit")
	want(t, v.page("/"), "#running", "Nothing is running")
	if next := v.do(draft + "/start"); next != "/batches/"+string(id) {
		t.Errorf("it goes on at %s", next)
	}
	has(t, v.page("/batches/"+string(id)), ".notice", "The audit has been started.")
	b, err := x.Batch(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	o, err := producer.OptionsOf(b)
	if err != nil || b.State != store.StateQueued || b.Name != "My shops" || !o.NoAgents || o.Discover != "always" || !o.IgnoreRobots || o.List.Read.Column != "homepage" || o.List.Rereadable() {
		t.Errorf("the batch is %+v with %+v, %v", b, o, err)
	}
	if due, err := x.TakeDue(t.Context(), store.ClassSmall, 10); err != nil || len(due) != 2 {
		t.Errorf("%d runs are due, %v", len(due), err)
	}
	if res, _ := v.get(draft); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/batches/"+string(id) {
		t.Errorf("the draft of a started batch: %d", res.StatusCode)
	}
	if res, body := v.post(draft + "/start"); res.StatusCode != http.StatusConflict || !strings.Contains(body, "started already") {
		t.Errorf("started twice: %d", res.StatusCode)
	}
}

func TestAllFormsOfLists(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, "a.example\nb.example\n")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	x, clock := storetest.New(t)
	v := visit(t, serve(t, Config{Store: x, Write: x, Now: clock.Now}))
	for name, c := range map[string]struct {
		content string
		fields  []string
	}{
		"list.txt":      {"a.example\r\nb.example", nil},
		"list.csv":      {"x;website\n1;a.example\n2;b.example\n", nil},
		"list.json":     {`{"data":{"items":[{"url":"a.example"},{"url":"b.example"}]}}`, []string{"pointer", "/data/items"}},
		"list.ndjson":   {"\"a.example\"\n{\"site\":\"b.example\"}\n", nil},
		"sitemap.xml":   {`<urlset><url><loc>https://a.example/</loc></url><url><loc>https://b.example/</loc></url></urlset>`, nil},
		"list.txt.gz":   {packed.String(), nil},
		"C:\\me\\l.txt": {"a.example\nb.example", nil},
		"utf16.csv":     {"\xff\xfeu\x00r\x00l\x00\n\x00a\x00.\x00e\x00\n\x00b\x00.\x00e\x00\n\x00", []string{"format", "csv"}},
	} {
		res, body := v.upload(name, []byte(c.content), c.fields...)
		if res.StatusCode != http.StatusSeeOther {
			t.Errorf("%s: %d %s", name, res.StatusCode, body)
			continue
		}
		b, err := x.Batch(t.Context(), store.BatchID(strings.TrimPrefix(res.Header.Get("Location"), "/new/")))
		if err != nil || b.Runs != 2 || len(b.Sources) != 1 || strings.Contains(b.Sources[0], "\\") {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
}

// A list that is not taken leaves nothing behind, and the page says why with
// all that was filled in.
func TestListsThatAreNotTaken(t *testing.T) {
	x, clock := storetest.New(t)
	s := serve(t, Config{Store: x, Write: x, Now: clock.Now, MaxUpload: 1 << 20, MaxLines: 25_000})
	v := visit(t, s)
	long := strings.Repeat("a.example\n", 40_000)
	for _, c := range []struct {
		name, file string
		status     int
		says       string
		fields     []string
	}{
		{"l.txt", "", 400, "There is no list", nil},
		{"", "", 400, "There is no list", []string{"sites", "  \n"}},
		{"l.json", `["a.example", "b`, 422, "nothing of it was kept", nil},
		{"l.xlsx", "PK\x03\x04", 422, "save the list as CSV", nil},
		{"l.csv", "a,b\n1,2\n", 422, "column", nil},
		{"l.txt", "a.example", 400, "There is no format", []string{"format", "pdf"}},
		{"l.txt", long, 413, "more than 25,000 lines", nil},
		{"l.txt", strings.Repeat("# not a line\n", 110_000), 413, "more than 100000 lines, blank ones included", nil},
		{"l.txt", strings.Repeat("# not a line"+strings.Repeat(".", 999)+"\n", 11_000), 413, "larger than", nil},
		{"l.txt", "a.example", 400, "at most 100 bytes", []string{"name", strings.Repeat("x", 101)}},
		{"l.txt", "a.example", 400, "always, missing, never", []string{"discover", "sometimes"}},
		{"l.txt", "a.example", 400, "no field", []string{"nome", "x"}},
		{"l.txt", "a.example", 413, "is longer than", []string{"column", strings.Repeat("x", 100_000)}},
	} {
		if c.file == "" && c.name != "" {
			c.name = ""
		}
		res, body := v.upload(c.name, []byte(c.file), append([]string{"labelColumn", "kept"}, c.fields...)...)
		doc := parsed(t, body)
		said := strings.ToLower(text(find(doc, ".note.bad")[0]))
		if res.StatusCode != c.status || !strings.Contains(said, strings.ToLower(c.says)) {
			t.Errorf("%q: %d %s, want %d with %q", c.name, res.StatusCode, said, c.status, c.says)
		}
		if got := attr(find(doc, "#n-labelColumn")[0], "value"); got != "kept" {
			t.Errorf("%q: the form forgot what was filled in: %q", c.name, got)
		}
	}
	if list, err := x.Batches(t.Context(), "", 10); err != nil || len(list) != 0 {
		t.Errorf("left behind: %+v, %v", list, err)
	}
	if res, _ := v.post("/new", "sites", "a.example"); res.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("a form of another kind: %d", res.StatusCode)
	}
}

func TestDraftsThatNobodyWants(t *testing.T) {
	x, clock := storetest.New(t)
	v := visit(t, serve(t, Config{Store: x, Write: x, Now: clock.Now}))
	res, _ := v.upload("", nil, "sites", "a.example")
	draft := res.Header.Get("Location")
	if next := v.do(draft + "/drop"); next != "/new" {
		t.Errorf("it goes on at %s", next)
	}
	if res, _ := v.get(draft); res.StatusCode != 404 {
		t.Errorf("a dropped list: %d", res.StatusCode)
	}
	old, _ := v.upload("", nil, "sites", "b.example")
	clock.Add(draftLife - time.Second)
	v.upload("", nil, "sites", "c.example")
	v.page(old.Header.Get("Location"))
	clock.Add(time.Second)
	v.upload("", nil, "sites", "d.example")
	if res, _ := v.get(old.Header.Get("Location")); res.StatusCode != 404 {
		t.Errorf("a list that was never confirmed: %d", res.StatusCode)
	}
	list, err := x.Batches(t.Context(), "", 10)
	if err != nil || len(list) != 2 {
		t.Errorf("%d lists are left, %v", len(list), err)
	}
	// A batch that a command is reading is none of ours.
	b, err := x.CreateBatch(t.Context(), store.NewBatch{Options: json.RawMessage(`{"list":{"files":["/x"]}}`)})
	if err != nil {
		t.Fatal(err)
	}
	clock.Add(2 * draftLife)
	v.upload("", nil, "sites", "e.example")
	if _, err := x.Batch(t.Context(), b.ID); err != nil {
		t.Errorf("an intake of a command was removed: %v", err)
	}
}

func TestSteering(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: x, Write: x, Now: x.clock.Now})
	v := visit(t, s)
	path := "/batches/" + string(x.running)
	buttons := func(path string) []string {
		var all []string
		for _, b := range find(v.page(path), ".steer button") {
			all = append(all, text(b))
		}
		return all
	}
	if got := buttons(path); !slices.Equal(got, []string{"Pause", "Cancel the batch"}) {
		t.Errorf("a running batch offers %q", got)
	}
	v.do(path + "/pause")
	doc := v.page(path)
	want(t, doc, "h1 .state", "paused")
	has(t, doc, ".note", "paused in the dashboard by local user")
	if got := buttons(path); !slices.Equal(got, []string{"Resume", "Cancel the batch"}) {
		t.Errorf("a paused batch offers %q", got)
	}
	if res, body := v.post(path + "/pause"); res.StatusCode != http.StatusConflict || !strings.Contains(body, "it is paused") {
		t.Errorf("paused twice: %d", res.StatusCode)
	}
	v.do(path + "/resume")
	want(t, v.page(path), "h1 .state", "running")
	v.do(path + "/cancel")
	want(t, v.page(path), "h1 .state", "cancelled")
	after := "/batches/" + string(x.after)
	if got := buttons(after); !slices.Equal(got, []string{"Audit the 4 unchecked again, in this batch"}) {
		t.Errorf("a finished batch offers %q", got)
	}
	v.do(after+"/retry", "outcome", "unchecked")
	b, err := x.Batch(t.Context(), x.after)
	if err != nil || b.State != store.StateRunning || b.OpenRuns != 4 || b.Outcomes[report.OutcomeUnchecked].Runs != 0 {
		t.Errorf("the batch is %+v, %v", b, err)
	}
	if res, _ := v.post(after+"/retry", "tag", "coast"); res.StatusCode != http.StatusBadRequest {
		t.Errorf("a retry of a tag: %d", res.StatusCode)
	}
	if res, _ := v.post("/batches/000000000/pause"); res.StatusCode != 404 {
		t.Errorf("no batch: %d", res.StatusCode)
	}
	for _, what := range []string{"pause", "resume", "cancel", "retry", "again"} {
		if res, _ := v.get(path + "/" + what); res.StatusCode != 405 {
			t.Errorf("GET %s: %d", what, res.StatusCode)
		}
	}
	// Who may only read is offered nothing.
	if doc := read(t, serve(t, Config{Store: x, Now: x.clock.Now}), after); len(find(doc, "main form, main button:not([data-copy])")) > 0 {
		t.Error("a dashboard for reading offers to change things")
	}
}

func TestAuditAgain(t *testing.T) {
	x := seed(t)
	s := serve(t, Config{Store: x, Write: x, Now: x.clock.Now})
	v := visit(t, s)
	after := "/batches/" + string(x.after)
	doc := v.page(after + "/results?outcome=failed&tag=coast")
	fields := []string{}
	for _, f := range find(doc, ".again input") {
		fields = append(fields, attr(f, "name"), attr(f, "value"))
	}
	if !slices.Equal(fields, []string{"outcome", "failed", "tag", "coast"}) {
		t.Fatalf("the form sends %q", fields)
	}
	want(t, v.page(after+"/results?outcome=failed"), ".again button", "Audit all 10 again …")
	draft := v.do(after+"/again", fields...)
	doc = v.page(draft)
	want(t, doc, "h1", "Shops of the region")
	want(t, doc, "#understood", "4 lines were accepted")
	has(t, doc, ".facts div", "Fromresults of "+string(x.after))
	if !regexp.MustCompile(`Will take ?about [\d.]+ (s|min) at the pace of Shops of the region`).MatchString(text(doc)) {
		t.Errorf("no estimate: %s", text(find(doc, ".facts")[0]))
	}
	has(t, doc, "tbody tr", "North Lantern")
	v.do(draft + "/start")
	id := store.BatchID(strings.TrimPrefix(draft, "/new/"))
	b, err := x.Batch(t.Context(), id)
	if err != nil || b.Entries != 4 || b.Name != "Shops of the region" {
		t.Errorf("the batch is %+v, %v", b, err)
	}
	for _, c := range []struct {
		fields []string
		status int
	}{{[]string{"tag", "nowhere"}, 409}, {[]string{"outcome", "great"}, 400}} {
		if res, _ := v.post(after+"/again", c.fields...); res.StatusCode != c.status {
			t.Errorf("%q: %d", c.fields, res.StatusCode)
		}
	}
	if list, err := x.OpenBatches(t.Context(), 10); err != nil || len(list) != 2 {
		t.Errorf("%d open batches, %v", len(list), err)
	}
}
