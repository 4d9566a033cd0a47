package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"agentaudit/audit/discovery"
	"agentaudit/audit/publication"
	"agentaudit/audit/report"
	"agentaudit/store"
)

// RunPage is the result of one site in one batch.
type RunPage struct {
	Frame
	Run   *store.Run
	Batch *store.Batch
	// Row is the result, nil while there is none. Entries are all entries of
	// the list that share it; MoreEntries says that others are not shown.
	Row         *store.Row
	Entries     []store.Row
	MoreEntries bool

	// Report is nil where no document is kept.
	Report *report.Report
	// ToDo are the checks that ask for something, the gravest first. Same are
	// the ids of those that only repeat the first one.
	ToDo []report.Check
	Same []string
	// Notes are for information, Passed is in order.
	Notes  []report.Check
	Passed []report.Check
	// Letter is what is to do as plain text, to be sent to the site's owner.
	Letter string

	Evidence  []report.Evidence
	Agents    *Agents
	Discovery bool
	// Scan is what a scan found and Kit what mends the publication, nil where
	// there is none.
	Scan *discovery.Report
	Kit  *publication.Kit
	// Raw is the report for reading, "" where it is too long for a page.
	Raw string

	Site *store.Site
	// Newest says that the site has no later result.
	Newest bool
	// Earlier is the result before this one, nil for none, Diff what changed.
	Earlier  *store.SiteResult
	Diff     store.Diff
	Timeline Timeline
}

// Agents is the audit of agents.txt in short.
type Agents struct {
	Verdict string `json:"verdict"`
	Format  string `json:"format"`
	Checks  []struct {
		ID       string `json:"id"`
		Severity string `json:"severity"`
		File     string `json:"file"`
		Line     int    `json:"line"`
		Detail   string `json:"detail"`
		Remedy   string `json:"remedy"`
	} `json:"checks"`
}

const (
	entriesPerRun = 20
	// longestRaw is how much JSON stands on a page; more can be downloaded.
	longestRaw = 200 << 10
)

func runPage(ctx context.Context, r *Request, read Reader) (*RunPage, error) {
	if err := r.Only(); err != nil {
		return nil, err
	}
	id := store.RunID(r.Path("run"))
	run, err := read.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	p := &RunPage{Frame: Frame{Title: runName(run.Label, run.Target), Section: "batches"}, Run: run}
	if p.Batch, err = read.Batch(ctx, id.Batch()); err != nil {
		return nil, err
	}
	page, err := read.Results(ctx, store.Filter{Batch: id.Batch(), Run: id}, "", entriesPerRun)
	if err != nil {
		return nil, err
	}
	p.Entries, p.MoreEntries = page.Rows, page.Next != ""
	if len(p.Entries) > 0 {
		p.Row = &p.Entries[0]
	}
	if err := p.history(ctx, read); err != nil {
		return nil, err
	}
	if p.Row == nil || p.Row.Outcome == store.Cancelled {
		return p, nil
	}
	parts, err := read.Parts(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return p, nil // no longer kept
	}
	if err != nil {
		return nil, err
	}
	return p, p.documents(parts)
}

// runName is what a site is called on its page.
func runName(label, target string) string {
	if label != "" {
		return label
	}
	return siteName(target)
}

func (p *RunPage) documents(parts *store.Parts) error {
	p.Report = new(report.Report)
	if err := json.Unmarshal(parts.Report, p.Report); err != nil {
		return fmt.Errorf("read the report of run %s: %w", p.Run.ID, err)
	}
	if parts.Evidence != nil {
		if err := json.Unmarshal(parts.Evidence, &p.Evidence); err != nil {
			return fmt.Errorf("read the evidence of run %s: %w", p.Run.ID, err)
		}
	}
	if parts.Agents != nil {
		p.Agents = new(Agents)
		if err := json.Unmarshal(parts.Agents, p.Agents); err != nil {
			return fmt.Errorf("read the agents report of run %s: %w", p.Run.ID, err)
		}
	}
	if p.Discovery = parts.Discovery != nil; p.Discovery {
		p.Scan = new(discovery.Report)
		if err := json.Unmarshal(parts.Discovery, p.Scan); err != nil {
			return fmt.Errorf("read the discovery report of run %s: %w", p.Run.ID, err)
		}
	}
	var err error
	if p.Kit, err = publication.DecodeKit(parts.FixKit); err != nil {
		return fmt.Errorf("run %s: %w", p.Run.ID, err)
	}
	p.sortChecks()
	p.Letter = letter(p)
	var raw bytes.Buffer
	if err := json.Indent(&raw, parts.Report, "", "  "); err == nil && raw.Len() <= longestRaw {
		p.Raw = raw.String()
	}
	return nil
}

// sortChecks puts failures before warnings; within each the order of the
// report already goes from the profile outwards.
func (p *RunPage) sortChecks() {
	seen := map[string]bool{}
	for _, c := range slices.Concat(p.Report.Checks, p.Report.Readme.Checks) {
		switch {
		case seen[c.ID]: // those of the README may stand in both lists
		case c.Status == report.Pass:
			p.Passed = append(p.Passed, c)
		case c.ID == "linked":
			p.Notes = append(p.Notes, c)
		default:
			p.ToDo = append(p.ToDo, c)
		}
		seen[c.ID] = true
	}
	slices.SortStableFunc(p.ToDo, func(a, b report.Check) int { return severity(b.Status) - severity(a.Status) })
	// Where a host cannot be reached none of its files can: once is enough.
	if len(p.ToDo) == 0 {
		return
	}
	cause := strings.ToLower(strings.TrimSuffix(p.ToDo[0].Detail, "."))
	p.ToDo = append(p.ToDo[:1:1], slices.DeleteFunc(p.ToDo[1:], func(c report.Check) bool {
		same := cause != "" && strings.Contains(strings.ToLower(c.Detail), cause)
		if same {
			p.Same = append(p.Same, c.ID)
		}
		return same
	})...)
}

func severity(s report.Status) int {
	if s == report.Fail {
		return 2
	}
	return 1
}

// letter is what is to do, as text that can be sent.
func letter(p *RunPage) string {
	if len(p.ToDo) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nAudited on %s: %s.\n%s\n", p.Run.Target, p.Row.FinishedAt.UTC().Format("2 January 2006, 15:04 UTC"), p.Row.Outcome, p.Report.Publication.Summary)
	for i, c := range p.ToDo {
		fmt.Fprintf(&b, "\n%d. %s (%s)\n%s\n", i+1, c.Label, map[bool]string{true: "must be corrected", false: "should be improved"}[c.Status == report.Fail], c.Detail)
		if c.Remedy != "" {
			fmt.Fprintf(&b, "To do: %s\n", c.Remedy)
		}
		if c.HelpURL != "" {
			fmt.Fprintf(&b, "%s\n", c.HelpURL)
		}
	}
	return b.String()
}

// history finds the result before this one, and the strip of the last ones.
func (p *RunPage) history(ctx context.Context, read Reader) error {
	site, err := read.Site(ctx, p.Run.Target)
	if errors.Is(err, store.ErrNotFound) {
		return nil // never had a result
	}
	if err != nil {
		return err
	}
	p.Site, p.Newest = site, site.LastRun == p.Run.ID
	last, err := read.SiteHistory(ctx, p.Run.Target, time.Time{}, timelineLength)
	if err != nil {
		return err
	}
	p.Timeline = newTimeline(p.Links, last, p.Run.ID)
	if p.Row == nil || p.Row.FinishedAt.IsZero() {
		return nil
	}
	before, err := read.SiteHistory(ctx, p.Run.Target, p.Row.FinishedAt, 1)
	if err != nil || len(before) == 0 {
		return err
	}
	p.Earlier = &before[0]
	p.Diff = store.DiffChecks(p.Earlier, &store.SiteResult{Failing: p.Row.Failing, Warning: p.Row.Warning})
	return nil
}

// document serves one document of a result as it is stored.
func (s *Server) document(w http.ResponseWriter, r *http.Request) error {
	if err := s.request(r).Only(); err != nil {
		return err
	}
	return s.writeDocument(w, r, store.RunID(r.PathValue("run")), r.PathValue("document"))
}

func (s *Server) writeDocument(w http.ResponseWriter, r *http.Request, id store.RunID, name string) error {
	parts, err := s.c.Store.Parts(r.Context(), id)
	if err != nil {
		return err
	}
	var doc json.RawMessage
	switch name {
	case "report.json":
		doc = parts.Report
	case "agents.json":
		doc = parts.Agents
	case "discovery.json":
		doc = parts.Discovery
	case "evidence.json":
		doc = parts.Evidence
	default:
		return notFound("A result has the documents report.json, agents.json, discovery.json and evidence.json.", nil)
	}
	if doc == nil {
		return notFound("This result has no "+name+".", nil)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`inline; filename="agentaudit-%s-%s"`, id, name))
	_, _ = w.Write(doc)
	return nil
}

// ShareFields are what a form sends that shares the result.
func (p *RunPage) ShareFields() []param { return []param{{"run", string(p.Run.ID)}} }

// Took is how long the last attempt lasted.
func (p *RunPage) Took() time.Duration { return p.Row.FinishedAt.Sub(p.Row.StartedAt) }

// DetailRepeats says that the first thing to do tells the detail anyway.
func (p *RunPage) DetailRepeats() bool {
	return len(p.ToDo) > 0 && p.ToDo[0].Detail == p.Row.Detail
}
