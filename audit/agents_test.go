package audit

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/agentstxt"
	"agentaudit/audit/report"
	"agentaudit/fetch/fakenet"
)

const agentsText = `Spec-Version: 1.0
Site-Name: Boats
Site-URL: https://site.example

Capability: boats
  Endpoint: https://site.example/mcp
  Protocol: MCP
  Description: Find a boat
`

var agentsHeader = http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Cache-Control": {"max-age=300"}, "Access-Control-Allow-Origin": {"*"}}

// auditAgents audits the usual host, with agents.txt.
func (w *world) auditAgents(t *testing.T) (*report.Result, *agentstxtReport) {
	t.Helper()
	target, err := ParseTarget(host, "")
	if err != nil {
		t.Fatal(err)
	}
	a := Auditor{Client: w.client()}
	j, err := a.Audit(t.Context(), Attempt{Target: target, Number: 1, Options: Options{Discover: DiscoverNever}})
	if err != nil {
		t.Fatal(err)
	}
	rest := *j.Result
	rest.Evidence = slices.DeleteFunc(slices.Clone(rest.Evidence), func(e report.Evidence) bool { return strings.Contains(e.URL, "agents.") })
	checkInvariants(t, &rest)
	var r agentstxtReport
	if err := json.Unmarshal(j.Result.Agents, &r); err != nil {
		t.Fatal(err)
	}
	if string(r.Verdict) != j.Result.AgentsVerdict {
		t.Errorf("verdict %q beside a report that says %q", j.Result.AgentsVerdict, r.Verdict)
	}
	return j.Result, &r
}

type agentstxtReport struct {
	Verdict      agentstxt.Verdict
	Checks       []agentstxt.Check
	Observations []report.Observation
}

func (r *agentstxtReport) details(id string) string {
	var out []string
	for _, c := range r.Checks {
		if c.ID == id {
			out = append(out, c.Detail)
		}
	}
	return strings.Join(out, "\n")
}

// agentsRequests counts the requests for agents.txt and agents.json.
func (w *world) agentsRequests() (n int) {
	for path, times := range w.Stats(host).Requests {
		if strings.Contains(path, "agents.") {
			n += times
		}
	}
	return n
}

func newAgentsWorld(t *testing.T, n *fakenet.Net) *world {
	return newWorld(t, n, siteProfile(host), siteOpenAPI)
}

// The same visit audits agents.txt with at most four more requests over the
// same connection, and the rest of the result is what it is without.
func TestAgentsBesideTheResult(t *testing.T) {
	for _, c := range []struct {
		name     string
		set      func(s *fakenet.Site)
		verdict  agentstxt.Verdict
		requests int
	}{
		{"valid", func(s *fakenet.Site) { s.Static(agentstxt.TextPath, 200, agentsHeader, agentsText) }, "valid", 4},
		{"invalid", func(s *fakenet.Site) { s.Static(agentstxt.TextPath, 200, agentsHeader, "Spec-Version: 1.0\n") }, "invalid", 4},
		{"other format", func(s *fakenet.Site) {
			s.Static(agentstxt.TextRootPath, 200, agentsHeader, "# Standard: https://agents-txt.com\nProtocols: MCP\n")
		}, "other", 4},
		{"nothing", func(*fakenet.Site) {}, "absent", 4},
		{"the same page everywhere", func(s *fakenet.Site) {
			s.Handle(fakenet.Reply(200, fakenet.HTML, "<!doctype html><title>App</title>"))
		}, "absent", 4},
		{"kept out", func(s *fakenet.Site) { s.Handle(fakenet.Text(403, "no")) }, "unchecked", 4},
		{"no answer", func(s *fakenet.Site) { s.Path(agentstxt.TextPath, fakenet.Stall("")) }, "unchecked", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, n *fakenet.Net) {
				w := newAgentsWorld(t, n)
				c.set(w.site)
				without := w.audit(t, host, "", 1).Result
				if got := w.agentsRequests(); got != 0 || without.AgentsVerdict != "" || without.Agents != nil {
					t.Errorf("without being asked: %d requests, verdict %q", got, without.AgentsVerdict)
				}
				connections := w.Stats(host).Connections
				res, r := w.auditAgents(t)
				if got := w.agentsRequests(); got != c.requests || r.Verdict != c.verdict {
					t.Errorf("%d requests, verdict %s; want %d, %s", got, r.Verdict, c.requests, c.verdict)
				}
				if got := w.Stats(host).Connections - connections; got != 1 {
					t.Errorf("%d connections", got)
				}
				if len(res.Evidence) != len(without.Evidence)+c.requests || len(r.Observations) != c.requests {
					t.Errorf("%d pieces of evidence and %d observations for %d requests more than %d", len(res.Evidence), len(r.Observations), c.requests, len(without.Evidence))
				}
				without.Report.ObservedAt = res.Report.ObservedAt
				if res.Outcome != without.Outcome || res.Reason != without.Reason || res.Detail != without.Detail || !reflect.DeepEqual(res.Report, without.Report) {
					t.Errorf("the rest of the result is another: %s %s", res.Outcome, res.Detail)
				}
			})
		})
	}
}

// A site that gives no answer to anything is not asked for more.
func TestAgentsOfASilentSite(t *testing.T) {
	for name, set := range map[string]func(n *fakenet.Net, s *fakenet.Site){
		"no such host":    func(_ *fakenet.Net, s *fakenet.Site) { s.DNS(fakenet.Answer{Failure: fakenet.NXDomain}) },
		"failing DNS":     func(_ *fakenet.Net, s *fakenet.Site) { s.DNS(fakenet.Answer{Failure: fakenet.ServFail}) },
		"private address": func(_ *fakenet.Net, s *fakenet.Site) { s.DNS(fakenet.Addresses("10.0.0.7")) },
		"refused":         func(n *fakenet.Net, s *fakenet.Site) { n.Address(s.Address().String(), fakenet.RefuseConnect) },
		"bad certificate": func(_ *fakenet.Net, s *fakenet.Site) { s.Certificate(fakenet.ExpiredCert) },
		"silence":         func(_ *fakenet.Net, s *fakenet.Site) { s.Handle(fakenet.Stall("")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, n *fakenet.Net) {
				w := &world{Net: n, site: n.Site(host)}
				set(n, w.site)
				started := time.Now()
				plain := w.audit(t, host, "", 1).Result
				took, dials, lookups := time.Since(started), len(n.Dials()), w.site.Lookups()
				started = time.Now()
				res, r := w.auditAgents(t)
				if r.Verdict != agentstxt.VerdictUnchecked || res.Outcome != plain.Outcome || w.agentsRequests() != 0 {
					t.Errorf("verdict %s, %s, %d requests", r.Verdict, res.Outcome, w.agentsRequests())
				}
				if d := r.details("agents:not-checked"); !strings.Contains(d, "the site gave no answer to anything else: ") {
					t.Errorf("the report does not say why: %q", d)
				}
				if time.Since(started) > took || len(n.Dials()) != 2*dials || w.site.Lookups() != 2*lookups || len(res.Evidence) != len(plain.Evidence) {
					t.Errorf("it cost more: %v instead of %v, %d dials instead of %d", time.Since(started), took, len(n.Dials())-dials, dials)
				}
			})
		})
	}
}

// Nothing that the files say leads the audit to another host.
func TestAgentsLeadNowhere(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newAgentsWorld(t, n)
		n.Static("other.example", "/agents.txt", 200, agentsHeader, agentsText)
		w.site.Static(agentstxt.TextPath, 200, agentsHeader, agentsText+
			"Agent: *\n\nAgent: bot\n  Agent-Declaration: https://other.example/agents.txt\n")
		w.site.Path(agentstxt.JSONPath, fakenet.Redirect(302, "https://other.example/agents.txt"))
		res, r := w.auditAgents(t)
		if n.Stats("other.example").Connections != 0 || n.Site("other.example").Lookups() != 0 {
			t.Error("the other host was visited")
		}
		d := r.details("agents:not-checked")
		if r.Verdict != agentstxt.VerdictValid || strings.Count(d, "it is on another host") != 2 {
			t.Errorf("%s: %s", r.Verdict, d)
		}
		for _, e := range res.Evidence {
			if strings.Contains(e.URL, "other.example") {
				t.Errorf("evidence of a read that was not made: %+v", e)
			}
		}
	})
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newAgentsWorld(t, n)
		w.site.Path(agentstxt.TextPath, fakenet.Redirect(301, "/files/agents.txt")).Static("/files/agents.txt", 200, agentsHeader, agentsText)
		if _, r := w.auditAgents(t); r.Verdict != agentstxt.VerdictValid || r.details("agents:redirect") == "" {
			t.Errorf("a redirect on the same site: %s", r.Verdict)
		}
	})
}

// MCP and A2A endpoints that stand in one convention only are noted, as
// information.
func TestAgentsAndProfileCompared(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newAgentsWorld(t, n) // its profile lists https://site.example/mcp
		w.site.Static(agentstxt.TextPath, 200, agentsHeader, agentsText)
		if _, r := w.auditAgents(t); r.details("agents:other-convention") != "" {
			t.Errorf("both list it: %s", r.details("agents:other-convention"))
		}
		w.site.Static(agentstxt.TextPath, 200, agentsHeader, strings.Replace(agentsText, "site.example/mcp", "site.example/mcp2", 1))
		_, r := w.auditAgents(t)
		d := r.details("agents:other-convention")
		if r.Verdict != agentstxt.VerdictValid || !strings.Contains(d, `/mcp2" is listed in agents.txt, but not in agentic.json`) || !strings.Contains(d, `/mcp" is listed in agentic.json, but not in agents.txt`) {
			t.Errorf("%s: %s", r.Verdict, d)
		}
		// Where there is no profile, nothing is known of the other convention.
		w.site.Static("/agentic.json", 404, fakenet.PlainText, "Missing")
		if _, r := w.auditAgents(t); r.details("agents:other-convention") != "" {
			t.Errorf("without a profile: %s", r.details("agents:other-convention"))
		}
	})
}

// A credential that a site publishes is in no part of the result.
func TestAgentsCredentialStaysHidden(t *testing.T) {
	const secret = "ghp_a8Kd92mXq7LpW3vZr5Tn1Yb6Hc4Jf0GsEuQi"
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newAgentsWorld(t, n)
		w.site.Static(agentstxt.TextPath, 200, http.Header{"Content-Type": {"text/plain; " + secret}}, strings.Replace(agentsText, "/mcp", "/mcp?key="+secret, 1)+"# "+secret+"\n")
		w.site.Path(agentstxt.JSONPath, fakenet.Redirect(302, "/agents.json?key="+secret))
		w.site.Path("/agents.json", fakenet.ResetAfter(""))
		res, r := w.auditAgents(t)
		if r.Verdict != agentstxt.VerdictInvalid || r.details("agents:credential") == "" {
			t.Errorf("%s: it was not found", r.Verdict)
		}
		if len(res.Evidence) != 8 {
			t.Fatalf("only %d pieces of evidence", len(res.Evidence))
		}
		out, err := json.Marshal(res)
		if err != nil || strings.Contains(string(out), secret) || strings.Contains(string(out), secret[6:]) {
			t.Errorf("it is printed: %v %s", err, out)
		}
	})
}

// A kept bundle gives the same result again.
func TestAgentsJudgedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, n *fakenet.Net) {
		w := newAgentsWorld(t, n)
		w.site.Static(agentstxt.TextPath, 200, agentsHeader, agentsText)
		target, err := ParseTarget(host, "")
		if err != nil {
			t.Fatal(err)
		}
		v := w.client().Visit()
		defer v.Close()
		b, err := Collect(t.Context(), v, target, time.Now())
		if err == nil {
			err = CollectAgents(t.Context(), v, b)
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		var again Bundle
		if err := json.Unmarshal(data, &again); err != nil {
			t.Fatal(err)
		}
		first, second := Judge(b), Judge(&again)
		if first.AgentsVerdict != "valid" || second.AgentsVerdict != first.AgentsVerdict || string(second.Agents) != string(first.Agents) {
			t.Errorf("%s and %s\n%s\n%s", first.AgentsVerdict, second.AgentsVerdict, first.Agents, second.Agents)
		}
	})
}
