package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentaudit/audit/agentstxt"
	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
)

// online runs the program in the process on a fake internet.
func online(t *testing.T, n *fakenet.Net, args ...string) (code int, out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	s := streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr,
		Connect: func(cfg fetch.Config) (*fetch.Client, error) { return n.Client(cfg), nil }}
	code = run(t.Context(), append([]string{"agentaudit"}, args...), s)
	return code, stdout.String(), stderr.String()
}

func newNet(t *testing.T) *fakenet.Net {
	n := fakenet.New(fakenet.Options{})
	t.Cleanup(n.Close)
	return n
}

var agentsHeader = http.Header{"Content-Type": {agentsTextType}, "Cache-Control": {"max-age=300"}, "Access-Control-Allow-Origin": {"*"}}

const shopAgents = `Spec-Version: 1.0
Site-Name: Shop
Site-URL: https://shop.example

Capability: find
  Endpoint: https://shop.example/find
  Protocol: REST
  Rate-Limit: 10/minute
  Description: Find an item

Allow: /products
Disallow: /

Agent: *

Agent: examplebot
  Rate-Limit: 5/minute
  Capabilities: find
`

// agentsAsked counts the requests for agents.txt and agents.json at a host.
func agentsAsked(n *fakenet.Net, host string) (asked int) {
	for path, times := range n.Stats(host).Requests {
		if strings.Contains(path, "agents.") {
			asked += times
		}
	}
	return asked
}

func TestAgentsOfASite(t *testing.T) {
	n := newNet(t)
	n.Static("shop.example", agentstxt.TextPath, 200, agentsHeader, shopAgents)
	n.Static("bad.example", agentstxt.TextPath, 200, agentsHeader, strings.ReplaceAll(strings.Replace(shopAgents, "https://shop.example/find", "http://bad.example/find", 1), "shop.", "bad."))
	n.Static("root.example", agentstxt.TextRootPath, 200, agentsHeader, "# Standard: https://agents-txt.com\nProtocols: MCP\n")
	n.Handle("page.example", fakenet.Reply(200, fakenet.HTML, "<!doctype html><title>App</title>"))
	n.Handle("wall.example", fakenet.Text(403, "no"))
	n.Site("moved.example").Handle(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://shop.example"+r.URL.Path, http.StatusFound)
	}))
	for _, c := range []struct {
		host    string
		code    int
		verdict string
		want    string
	}{
		{"shop.example", exitFine, "valid", "keeps to the draft"},
		{"bad.example", exitObjects, "invalid", "\n       " + "  Endpoint: https://bad.example/find\n"},
		{"root.example", exitFine, "other", "another format"},
		{"page.example", exitFine, "absent", "Nobody has to have one"},
		{"wall.example", exitUndone, "unchecked", "no verdict about the site"},
		{"nowhere.example", exitUndone, "unchecked", "no verdict about the site"},
		{"moved.example", exitFine, "valid", "redirected to another host"},
	} {
		code, out, errs := online(t, n, "agents", c.host)
		if code != c.code || !strings.HasPrefix(out, strings.ToUpper(c.verdict)+"  agents.txt of https://"+c.host+"\n") || !strings.Contains(out, c.want) || errs != "" {
			t.Errorf("%s: exit %d, %s%s; want %d, %s and %q", c.host, code, out, errs, c.code, c.verdict, c.want)
		}
		code, out, _ = online(t, n, "agents", "https://"+c.host+"/some/agentic.json", "--json")
		var r struct{ Kind, Verdict, Origin string }
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != c.code || r.Kind != agentstxt.ReportKind || r.Verdict != c.verdict || r.Origin != "https://"+c.host {
			t.Errorf("%s --json: exit %d, %v, %+v", c.host, code, err, r)
		}
	}
	plain := http.Header{"Content-Type": {"text/plain"}}
	n.Static("shop.example", agentstxt.TextPath, 200, plain, shopAgents)
	if code, _, _ := online(t, n, "agents", "shop.example"); code != exitFine {
		t.Errorf("without charset: exit %d", code)
	}
	if code, _, _ := online(t, n, "agents", "shop.example", "--strict"); code != exitObjects {
		t.Errorf("without charset, strict: exit %d", code)
	}
	if bad := n.Forbidden(); len(bad) > 0 {
		t.Errorf("forbidden connections were tried: %v", bad)
	}
}

func TestAgentsOfLocalFiles(t *testing.T) {
	dir := t.TempDir()
	text := writeFile(t, dir, "agents.txt", shopAgents)
	if code, out, errs := command(t, "agents", "--file", text); code != 0 || !strings.Contains(out, "VALID") || errs != "" {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if code, out, _ := command(t, "agents", "--file", text, "--origin", "https://other.example"); !strings.Contains(out, "agents:site-url-host") {
		t.Errorf("of another site: exit %d, %s", code, out)
	}
	bad := writeFile(t, dir, "bad.txt", strings.Replace(shopAgents, "10/minute", "ten/minute", 1))
	code, out, _ := command(t, "agents", "--file", bad)
	if code != exitObjects || !strings.Contains(out, bad+":8:") || !strings.Contains(out, "agents:rate-limit (rule 38)") {
		t.Errorf("exit %d, %s", code, out)
	}
	broken := writeFile(t, dir, "agents.json", `{"specVersion": "1.0",`)
	if code, out, _ := command(t, "agents", "--file", text, "--json-file", broken, "--json"); code != exitObjects || !strings.Contains(out, `"agents:json"`) {
		t.Errorf("exit %d, %s", code, out)
	}
	big := writeFile(t, dir, "big.txt", strings.Repeat("x", agentstxt.MaxBody+1))
	if code, out, _ := command(t, "agents", "--file", big); code != exitObjects || !strings.Contains(out, "agents:too-large") {
		t.Errorf("too large: exit %d, %s", code, out)
	}
	if code, _, errs := command(t, "agents", "convert", big); code != exitUsage || !strings.Contains(errs, "over the limit") {
		t.Errorf("convert of a file that is too large: exit %d, %s", code, errs)
	}
	hostile := writeFile(t, dir, "hostile.txt", "Spec-Version: 1.0\x1b[31m\nSite-Name: \x1b]0;x\x07\nDisallow: x\u202e\x1b[2J\nCapability: \x1b[1m\n")
	if _, out, errs := command(t, "agents", "--file", hostile); strings.ContainsAny(out+errs, "\x1b\x07\u202e") {
		t.Errorf("control characters reach the terminal: %q", out+errs)
	}
}

func TestAgentsQuestion(t *testing.T) {
	n := newNet(t)
	n.Static("shop.example", agentstxt.TextPath, 200, agentsHeader, shopAgents)
	n.Static("none.example", "/", 200, agentsHeader, "")
	text := writeFile(t, t.TempDir(), "agents.txt", shopAgents)
	for _, c := range []struct {
		who, can string
		code     int
		want     []string
	}{
		{"ExampleBot/1.0 (x)", "GET /products/1", exitFine, []string{"ALLOWED  GET /products/1 for ExampleBot/1.0", ":11  Allow: /products", "agent block   examplebot", "capabilities  find", "rate limit    5/minute"}},
		{"ExampleBot/1.0", "get /find?q=x", exitFine, []string{"ONLY-AS-CAPABILITY", "at this path  find", ":6  Endpoint:"}},
		{"Other/2", "/staff", exitObjects, []string{"DISALLOWED  GET /staff for Other/2", ":12  Disallow: /", "agent block   *"}},
	} {
		for _, where := range [][]string{{"shop.example"}, {"--file", text}} {
			args := append([]string{"agents"}, where...)
			code, out, errs := online(t, n, append(args, "--who", c.who, "--can", c.can)...)
			if code != c.code || errs != "" {
				t.Errorf("%s, %s: exit %d, %s", c.who, c.can, code, errs)
			}
			for _, w := range c.want {
				if !strings.Contains(out, w) {
					t.Errorf("%s, %s: %q is not in\n%s", c.who, c.can, w, out)
				}
			}
		}
	}
	code, out, _ := online(t, n, "agents", "shop.example", "--who", "x", "--can", "GET /products", "--json")
	var a struct {
		File, Allowed string
		Line          int
	}
	if err := json.Unmarshal([]byte(out), &a); err != nil || code != 0 || a.Allowed != "allowed" || a.Line != 11 || a.File != "https://shop.example/.well-known/agents.txt" {
		t.Errorf("exit %d, %v, %+v", code, err, a)
	}
	if code, out, errs := online(t, n, "agents", "none.example", "--who", "x", "--can", "GET /"); code != exitUndone || out != "" || !strings.Contains(errs, "no declaration") {
		t.Errorf("no declaration: exit %d, %s, %s", code, out, errs)
	}
	// Where the two forms differ the JSON answers, as it does for readers.
	jsonHeader := agentsHeader.Clone()
	jsonHeader.Set("Content-Type", agentsJSONType)
	other, _ := agentstxt.ParseText([]byte(strings.Replace(shopAgents, "Allow: /products", "Allow: /items", 1))).Convert(agentstxt.JSONForm)
	n.Static("shop.example", agentstxt.JSONPath, 200, jsonHeader, string(other))
	if code, out, _ := online(t, n, "agents", "shop.example", "--who", "x", "--can", "GET /products"); code != exitObjects || !strings.Contains(out, "agents.json:") {
		t.Errorf("they differ: exit %d, %s", code, out)
	}
}

func TestAgentsConvert(t *testing.T) {
	dir := t.TempDir()
	text := writeFile(t, dir, "agents.txt", shopAgents)
	code, out, errs := command(t, "agents", "convert", text)
	if code != 0 || errs != "" || !json.Valid([]byte(out)) {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	there := filepath.Join(dir, "agents.json")
	if code, out, errs := command(t, "agents", "convert", text, "--out", there); code != 0 || out != "" || !strings.Contains(errs, "wrote") {
		t.Fatalf("exit %d, %s%s", code, out, errs)
	}
	if code, _, errs := command(t, "agents", "convert", text, "--out", there); code != exitUsage || !strings.Contains(errs, "never overwritten") {
		t.Errorf("again: exit %d, %s", code, errs)
	}
	if code, back, errs := command(t, "agents", "convert", there); code != 0 || back != shopAgents {
		t.Errorf("and back: exit %d, %s\n%s", code, errs, back)
	}
	if code, same, _ := command(t, "agents", "convert", "--to", "text", text); code != 0 || same != shopAgents {
		t.Errorf("text to text: exit %d\n%s", code, same)
	}

	// What is lost is said, and not lost unless that was asked for.
	commented := writeFile(t, dir, "commented.txt", "# for agents\n"+shopAgents)
	lost := filepath.Join(dir, "lost.json")
	code, out, errs = command(t, "agents", "convert", commented, "--out", lost)
	if _, err := os.Stat(lost); code != exitObjects || out != "" || !strings.Contains(errs, "1 comment") || !os.IsNotExist(err) {
		t.Errorf("with a comment: exit %d, %s%s, %v", code, out, errs, err)
	}
	code, out, errs = command(t, "agents", "convert", commented, "--lossy")
	if code != 0 || !json.Valid([]byte(out)) || !strings.Contains(errs, "1 comment") {
		t.Errorf("--lossy: exit %d, %s%s", code, out, errs)
	}
	for args, want := range map[string]string{
		"convert":                        "one file, not 0",
		"convert " + text + " --to yaml": "use text or json",
		"convert " + writeFile(t, dir, "other.txt", "# Standard: https://agents-txt.com\nProtocols: MCP\n"): "another format",
		"convert " + writeFile(t, dir, "broken.json", "{\"specVersion\": \"1.0\",\n"):                       "broken.json:2:1",
		"convert " + filepath.Join(dir, "nowhere"):                                                          "nowhere",
	} {
		if code, out, errs := command(t, append([]string{"agents"}, strings.Fields(args)...)...); code != exitUsage || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit %d, %s%s; want %q", args, code, out, errs, want)
		}
	}
}

// A credential in a file is in no output of any command.
func TestAgentsNeverPrintACredential(t *testing.T) {
	secret := "ghp_" + "a8Kd92mXq7LpW3vZr5Tn1Yb6Hc4Jf0GsEuQi"
	body := strings.NewReplacer("Find an item", "use "+secret, "/find\n", "/find?key="+secret+"\n", "Disallow: /\n", "Disallow: /"+secret+"\n").Replace(shopAgents)
	path := writeFile(t, t.TempDir(), "agents.txt", body)
	n := newNet(t)
	n.Static("shop.example", agentstxt.TextPath, 200, agentsHeader, body)
	data := t.TempDir()
	for _, args := range [][]string{
		{"agents", "--file", path}, {"agents", "--file", path, "--json"}, {"agents", "shop.example"}, {"agents", "shop.example", "--json"},
		{"agents", "--file", path, "--who", "ExampleBot", "--can", "/" + secret[:8]}, {"agents", "--file", path, "--who", "ExampleBot", "--can", "/find", "--json"},
		{"agents", "convert", path}, {"agents", "convert", path, "--lossy"}, {"agents", "convert", path, "--to", "text"}, {"audit", "shop.example", "--no-retry"},
		{"run", "shop.example", "--data-dir", data, "--no-retry", "--quiet"}, {"results", "--data-dir", data, "--format", "ndjson", "--full"}, {"results", "--data-dir", data, "--site", "shop.example"},
	} {
		_, out, errs := online(t, n, args...)
		if all := out + errs; strings.Contains(all, secret) || strings.Contains(all, secret[12:]) || all == "" {
			t.Errorf("%v prints it: %s", args, all)
		}
	}
}

func TestAgentsUse(t *testing.T) {
	for args, want := range map[string]string{
		"agents":                                         "one site, not 0",
		"agents a.example b.example":                     "one site, not 2",
		"agents a.example --file f":                      "a site or local files, not both",
		"agents a.example --origin https://b.example":    "--origin is for local files",
		"agents --file nowhere.txt":                      "nowhere.txt",
		"agents --file nowhere.txt --origin ftp://x":     "--origin",
		"agents --file x --origin https://a:hunter2@b/c": "--origin",
		"agents a.example --who x":                       "belong together",
		"agents a.example --who x --can nonsense":        "--can",
		"agents ftp://a.example":                         "only https URLs",
		"agents a.example --jsn":                         "agentaudit agents has no flag --jsn; did you mean --json?",
		"agents convert x --tpo json":                    "agentaudit agents convert has no flag --tpo",
		"results --agents fine":                          "--agents",
	} {
		code, out, errs := command(t, strings.Fields(args)...)
		if code != exitUsage || out != "" || !strings.Contains(errs, want) || strings.Contains(errs, "hunter2") {
			t.Errorf("%s: exit %d, %s%s; want %q", args, code, out, errs, want)
		}
	}
	code, out, _ := command(t, "agents", "--help")
	if code != 0 || !strings.Contains(out, "EXAMPLE\n") || !strings.Contains(out, "--who") || !strings.Contains(out, "convert") {
		t.Errorf("help: exit %d, %s", code, out)
	}
}

// audit and run look at agents.txt with at most four requests, with
// --no-agents none, and a batch remembers it.
func TestAgentsInAudits(t *testing.T) {
	n := newNet(t)
	library("shop.example").online(n.Site("shop.example"))
	n.Static("shop.example", agentstxt.TextPath, 200, agentsHeader, strings.Replace(shopAgents, "https://shop.example/find", "http://shop.example/find", 1))
	data := t.TempDir()
	asked := 0
	more := func() int {
		all := agentsAsked(n, "shop.example")
		defer func() { asked = all }()
		return all - asked
	}
	code, out, errs := online(t, n, "audit", "shop.example")
	if got := more(); code != 0 || got != 4 || !strings.Contains(out, "agents.txt  INVALID") || !strings.Contains(out, "  Endpoint: https://shop.example/find\n") || errs != "" {
		t.Errorf("audit: exit %d, %d requests, %s%s", code, got, out, errs)
	}
	if code, out, _ := online(t, n, "audit", "shop.example", "--publication", "--no-agents"); code != 0 || more() != 0 || strings.Contains(out, "agents.txt") {
		t.Errorf("audit --no-agents: exit %d, %s", code, out)
	}
	code, out, _ = online(t, n, "audit", "shop.example", "--json")
	var r map[string]any
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || r["reportVersion"] != "3" || strings.Contains(out, "agents") || more() != 0 {
		t.Errorf("audit --json: exit %d, %v", code, err)
	}
	rows := func(args ...string) int {
		_, out, _ := command(t, append([]string{"results", "--data-dir", data, "--format", "csv"}, args...)...)
		return strings.Count(out, "\n") - 1
	}
	if code, _, errs := online(t, n, "run", "shop.example", "--data-dir", data, "--quiet"); code != 0 || more() != 4 {
		t.Errorf("run: exit %d, %s", code, errs)
	}
	if rows("--agents", "invalid") != 1 || rows("--agents", "valid") != 0 || rows("--agents", "invalid", "--outcome", "failed") != 0 {
		t.Error("the verdict is not in the results")
	}
	if code, out, _ := command(t, "results", "--data-dir", data, "--site", "shop.example"); code != 0 || !strings.Contains(out, "agents.txt  INVALID") {
		t.Errorf("results --site: exit %d, %s", code, out)
	}
	if code, out, _ := command(t, "results", "--data-dir", data); code != 0 || !strings.Contains(out, "AGENTS") || !strings.Contains(out, "  invalid  ") {
		t.Errorf("table: exit %d, %s", code, out)
	}
	if code, _, errs := online(t, n, "run", "shop.example", "--data-dir", data, "--quiet", "--no-agents"); code != 0 || more() != 0 {
		t.Errorf("run --no-agents: exit %d, %s", code, errs)
	}
	if code, _, errs := online(t, n, "retry", "latest", "--outcome", "successful", "--data-dir", data, "--quiet"); code != 0 || more() != 0 {
		t.Errorf("retry of a batch without agents.txt: exit %d, %s", code, errs)
	}
	if rows("--agents", "invalid") != 0 || rows() != 1 {
		t.Error("the batch without agents.txt has a verdict over it")
	}
}

// A corrected line stands alone, to be copied.
func TestCorrectedLine(t *testing.T) {
	for remedy, want := range map[string][2]string{
		"Write: Spec-Version: 1.0":                                      {"Write:", "Spec-Version: 1.0"},
		"Add:   Endpoint: https://shop.example/x":                       {"Add:", "  Endpoint: https://shop.example/x"},
		`Write: "protocol": "REST"`:                                     {"Write:", `"protocol": "REST"`},
		"Write it as a field (Key: value) or as a comment: # see there": {"Write it as a field (Key: value) or as a comment:", "# see there"},
		"Write the agent's name, or * for all agents: Agent: *":         {"Write the agent's name, or * for all agents:", "Agent: *"},
		"Did you mean Site-Name? Write: Site-Name: Shop":                {"Did you mean Site-Name? Write:", "Site-Name: Shop"},
		"Write the whole address: https://shop.example/x":               {"Write the whole address:", "https://shop.example/x"},
		"Send the header: Cache-Control: public, max-age=300":           {"Send the header:", "Cache-Control: public, max-age=300"},
		"Nothing.": {"Nothing.", ""},
		"Declare a capability with Endpoint: https://x.example/mcp and Protocol: MCP":                     {"Declare a capability with Endpoint: https://x.example/mcp and Protocol: MCP", ""},
		"Send the headers: Access-Control-Allow-Origin: * and Access-Control-Allow-Methods: GET, OPTIONS": {"Send the headers: Access-Control-Allow-Origin: * and Access-Control-Allow-Methods: GET, OPTIONS", ""},
	} {
		if say, line := correctedLine(remedy); say != want[0] || line != want[1] {
			t.Errorf("%q: %q and %q", remedy, say, line)
		}
	}
}

// A passing trouble of the one site is waited for, as by audit.
func TestAgentsTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := fakenet.New(fakenet.Options{})
		defer n.Close()
		busy := func(times int) {
			n.Site("shop.example").Path("/.well-known/agents.txt", fakenet.OnceThen(times, fakenet.Limited(503, "30"), fakenet.Reply(200, agentsHeader, shopAgents)))
			n.Site("shop.example").Path("/agents.txt", fakenet.OnceThen(times, fakenet.Text(503, "later"), fakenet.Text(404, "none")))
		}
		busy(2)
		began := time.Now()
		code, out, errs := online(t, n, "agents", "shop.example")
		if took := time.Since(began); code != 0 || !strings.Contains(out, "VALID") || strings.Count(errs, "Trying again in 3") != 2 || took < time.Minute || took > 2*time.Minute {
			t.Errorf("exit %d after %s\n%s%s", code, took, out, errs)
		}
		busy(1)
		if code, out, errs := online(t, n, "agents", "shop.example", "--no-retry"); code != exitUndone || errs != "" {
			t.Errorf("--no-retry: exit %d\n%s%s", code, out, errs)
		}
		busy(3)
		if code, out, errs := online(t, n, "agents", "shop.example"); code != exitUndone || strings.Count(errs, "Trying again") != 2 {
			t.Errorf("three times: exit %d\n%s%s", code, out, errs)
		}
	})
}
