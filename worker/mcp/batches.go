package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/agentstxt"
	"agentaudit/audit/report"
	"agentaudit/audit/sitelist"
	"agentaudit/store"
	"agentaudit/worker/producer"
)

// The limits of one call.
const (
	maxURLs     = 10_000
	maxList     = 2 << 20 // bytes
	maxRejected = 20      // shown; batch counts all
	maxRows     = 200
	usualRows   = 50
)

type submitInput struct {
	URLs []string `json:"urls,omitempty" jsonschema:"the sites, at most 10,000; give urls or list"`
	List string   `json:"list,omitempty" jsonschema:"the text of a list: one site a line, CSV, JSON, NDJSON or a sitemap, at most 2 MiB"`
	Name string   `json:"name,omitempty" jsonschema:"what to call the batch"`
}

type submitOutput struct {
	Batch      store.BatchID    `json:"batch"`
	State      store.BatchState `json:"state"`
	Entries    int64            `json:"entries" jsonschema:"accepted lines"`
	Duplicates int64            `json:"duplicates" jsonschema:"accepted lines that share the audit of an earlier one"`
	Rejected   int64            `json:"rejected"`
	// RejectedLines are the first of them.
	RejectedLines []store.Rejected `json:"rejectedLines" jsonschema:"the first 20 of the rejected lines, with reasons"`
	Next          string           `json:"next" jsonschema:"who audits the batch, and how to follow it"`
}

func (t *tools) submit(ctx context.Context, in submitInput) (*submitOutput, error) {
	list := producer.List{}
	var inputs []producer.Input
	switch {
	case len(in.URLs) > 0 && in.List != "":
		return nil, errors.New("give urls or list, not both")
	case len(in.URLs) > maxURLs:
		return nil, fmt.Errorf("urls has %d sites; the limit is %d for one call. Submit them in several batches, or with agentaudit run", len(in.URLs), maxURLs)
	case len(in.List) > maxList:
		return nil, fmt.Errorf("list has %d bytes; the limit is %d for one call. Submit it in several parts, or with agentaudit run", len(in.List), maxList)
	case len(in.URLs) > 0:
		list.Sites = in.URLs
		inputs = list.Inputs(nil)
	case strings.TrimSpace(in.List) != "":
		list.Posted = []string{"submitted list"}
		inputs = []producer.Input{producer.Reader(list.Posted[0], strings.NewReader(in.List))}
	default:
		return nil, errors.New("there is nothing to audit: give urls, as in [\"shop.example\"], or the text of a list")
	}
	st, done, err := t.Open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer done()
	options, err := json.Marshal(producer.Options{List: list, Options: t.Batches})
	if err != nil {
		return nil, t.ours(ctx, err)
	}
	b, err := st.CreateBatch(ctx, store.NewBatch{Name: in.Name, Sources: list.SourceNames(), Options: options})
	if err != nil {
		return nil, t.ours(ctx, err)
	}
	id := b.ID
	if _, err = producer.Fill(ctx, st, id, inputs, sitelist.Options{}, nil); err == nil {
		b, err = st.SealBatch(ctx, id)
	}
	if err != nil {
		dropErr := st.AbandonIntake(context.WithoutCancel(ctx), id, "its list could not be read")
		if bad, ok := errors.AsType[*producer.ListError](err); ok && dropErr == nil {
			return nil, fmt.Errorf("nothing was submitted: %w", bad)
		}
		return nil, t.ours(ctx, errors.Join(err, dropErr))
	}
	out := &submitOutput{
		Batch: b.ID, State: b.State, Entries: b.Entries, Duplicates: b.Duplicates, Rejected: b.Rejected,
		Next: cmp.Or(t.Working, "Workers audit it.") + " Call batch_status with this batch to see how far it is, then list_results.",
	}
	lines, err := st.RejectedLines(ctx, b.ID, 0, maxRejected)
	if err != nil {
		return nil, t.ours(ctx, err)
	}
	out.RejectedLines = append([]store.Rejected{}, lines...)
	return out, nil
}

type batchInput struct {
	Batch string `json:"batch" jsonschema:"the id of the batch, or latest"`
}

type statusOutput struct {
	Batch      store.BatchID            `json:"batch"`
	Name       string                   `json:"name"`
	State      store.BatchState         `json:"state" jsonschema:"intake, queued, running, paused, cancelled or finished"`
	Note       string                   `json:"note"`
	Entries    int64                    `json:"entries"`
	Done       int64                    `json:"done"`
	Duplicates int64                    `json:"duplicates"`
	Rejected   int64                    `json:"rejected"`
	Outcomes   map[report.Outcome]int64 `json:"outcomes" jsonschema:"entries by outcome"`
	Reasons    []reasonCount            `json:"reasons" jsonschema:"the most frequent reasons"`
	CreatedAt  time.Time                `json:"createdAt"`
	FinishedAt *time.Time               `json:"finishedAt"`
}

type reasonCount struct {
	Outcome report.Outcome `json:"outcome"`
	Reason  report.Reason  `json:"reason"`
	Entries int64          `json:"entries"`
}

func (t *tools) status(ctx context.Context, in batchInput) (*statusOutput, error) {
	st, done, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	b, err := t.batch(ctx, st, in.Batch)
	if err != nil {
		return nil, err
	}
	out := &statusOutput{
		Batch: b.ID, Name: b.Name, State: b.State, Note: b.Note, Entries: b.Entries, Done: b.Done(), Duplicates: b.Duplicates, Rejected: b.Rejected,
		Outcomes: map[report.Outcome]int64{}, Reasons: []reasonCount{}, CreatedAt: b.CreatedAt,
	}
	if !b.FinishedAt.IsZero() {
		out.FinishedAt = &b.FinishedAt
	}
	for o, n := range b.Outcomes {
		out.Outcomes[o] = n.Entries
	}
	reasons, err := st.TopReasons(ctx, b.ID, 20)
	if err != nil {
		return nil, t.ours(ctx, err)
	}
	for _, r := range reasons {
		out.Reasons = append(out.Reasons, reasonCount{r.Outcome, r.Reason, r.Entries})
	}
	return out, nil
}

// open opens the store for reading.
func (t *tools) open(ctx context.Context) (Store, func(), error) {
	st, done, err := t.Open(ctx, false)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil, errors.New("there are no batches yet; submit_batch makes the first")
	}
	return st, done, err
}

// batch finds the batch that a client means, without secrets in what it says.
func (t *tools) batch(ctx context.Context, st Store, name string) (*store.Batch, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "latest" {
		newest, err := st.Batches(ctx, "", 1)
		if err != nil {
			return nil, t.ours(ctx, err)
		}
		if len(newest) == 0 {
			return nil, errors.New("there are no batches yet; submit_batch makes the first")
		}
		producer.Plain{}.Batch(&newest[0])
		return &newest[0], nil
	}
	id, err := store.ParseBatchID(name)
	if err != nil {
		return nil, fmt.Errorf("batch %.40q is no id of a batch; give the one that submit_batch answered, or latest", name)
	}
	b, err := st.Batch(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("there is no batch %s; give the id that submit_batch answered, or latest", id)
	}
	if err != nil {
		return nil, t.ours(ctx, err)
	}
	producer.Plain{}.Batch(b)
	return b, nil
}

type resultsInput struct {
	Batch   string `json:"batch" jsonschema:"the id of the batch, or latest"`
	Outcome string `json:"outcome,omitempty" jsonschema:"only successful, partial, failed, unchecked or cancelled"`
	Reason  string `json:"reason,omitempty" jsonschema:"only this reason, as in missing-profile"`
	Check   string `json:"check,omitempty" jsonschema:"only where this check fails or warns, as in txt; api and resource stand for all of their kind"`
	Agents  string `json:"agents,omitempty" jsonschema:"only sites whose agents.txt is valid, invalid, other, absent or unchecked"`
	Host    string `json:"host,omitempty" jsonschema:"only sites on this host"`
	Label   string `json:"label,omitempty" jsonschema:"only entries with this label"`
	ID      string `json:"id,omitempty" jsonschema:"only the entry with the listing's own id"`
	Tag     string `json:"tag,omitempty" jsonschema:"only entries with this tag"`
	Search  string `json:"search,omitempty" jsonschema:"only hosts, labels and ids that begin so"`
	Limit   int    `json:"limit,omitempty" jsonschema:"how many rows at the most, 1 to 200 (default 50)"`
	Cursor  string `json:"cursor,omitempty" jsonschema:"next of the page before"`
}

type resultsOutput struct {
	Batch store.BatchID    `json:"batch"`
	State store.BatchState `json:"state"`
	Rows  []store.Row      `json:"rows"`
	Next  string           `json:"next,omitempty" jsonschema:"the cursor of the following page, absent on the last"`
}

func (t *tools) results(ctx context.Context, in resultsInput) (*resultsOutput, error) {
	f := store.Filter{
		Outcome: report.Outcome(in.Outcome), Reason: report.Reason(in.Reason), Check: in.Check, Agents: in.Agents,
		Host: in.Host, Label: in.Label, ID: in.ID, Tag: in.Tag, Text: in.Search,
	}
	switch {
	case f.Outcome != "" && f.Outcome != store.Cancelled && !slices.Contains(report.Outcomes, f.Outcome):
		return nil, fmt.Errorf("outcome %.40q is none; use successful, partial, failed, unchecked or cancelled", in.Outcome)
	case f.Reason != "" && !slices.Contains(report.Reasons, f.Reason):
		return nil, fmt.Errorf("reason %.40q is none; there are %v", in.Reason, report.Reasons)
	case f.Agents != "" && !slices.Contains(agentstxt.Verdicts, agentstxt.Verdict(f.Agents)):
		return nil, fmt.Errorf("agents %.40q is no verdict; there are %v", in.Agents, agentstxt.Verdicts)
	case in.Limit < 0 || in.Limit > maxRows:
		return nil, fmt.Errorf("limit must be 1 to %d; go on with cursor for more rows", maxRows)
	case in.Limit == 0:
		in.Limit = usualRows
	}
	st, done, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	b, err := t.batch(ctx, st, in.Batch)
	if err != nil {
		return nil, err
	}
	f.Batch = b.ID
	page, err := st.Results(ctx, f, in.Cursor, in.Limit)
	if errors.Is(err, store.ErrCursor) {
		return nil, errors.New("cursor is not of this list; use next of the page before with the same filters, or leave it out")
	}
	if err != nil {
		return nil, t.ours(ctx, err)
	}
	out := &resultsOutput{Batch: b.ID, State: b.State, Rows: page.Rows, Next: page.Next}
	if out.Rows == nil {
		out.Rows = []store.Row{}
	}
	return out, nil
}

type reportInput struct {
	Site  string `json:"site" jsonschema:"the site, as in shop.example, or the address of its agentic.json"`
	Batch string `json:"batch,omitempty" jsonschema:"the id of a batch, or latest (default: the site's last audit in any batch)"`
}

type reportOutput struct {
	Batch     store.BatchID   `json:"batch"`
	Target    string          `json:"target"`
	Outcome   report.Outcome  `json:"outcome"`
	Reason    report.Reason   `json:"reason"`
	Detail    string          `json:"detail"`
	CheckedAt time.Time       `json:"checkedAt"`
	Report    json.RawMessage `json:"report" jsonschema:"the version 3 report"`
	Agents    json.RawMessage `json:"agentsReport" jsonschema:"the agents.txt report, null if there was no such audit"`
}

func (t *tools) report(ctx context.Context, in reportInput) (*reportOutput, error) {
	target, err := audit.ParseTarget(in.Site, "")
	if err != nil {
		return nil, fmt.Errorf("site: %w. Give it as in shop.example", err)
	}
	st, done, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	run, err := t.run(ctx, st, target.ProfileURL.String(), in.Batch)
	if err != nil {
		return nil, err
	}
	results, err := st.RunResults(ctx, run.Batch(), []store.RunID{run})
	if err != nil {
		return nil, t.ours(ctx, err)
	}
	r := results[0]
	if r.Outcome == "" {
		return nil, fmt.Errorf("%s has no result in batch %s yet; call batch_status to see how far it is", target.ProfileURL, run.Batch())
	}
	parts, err := st.Parts(ctx, run)
	if err != nil {
		return nil, t.ours(ctx, err)
	}
	out := &reportOutput{run.Batch(), r.Target, r.Outcome, r.Reason, r.Detail, r.FinishedAt, parts.Report, parts.Agents}
	if len(out.Agents) == 0 {
		out.Agents = json.RawMessage("null")
	}
	return out, nil
}

// run finds the run of a site: in a batch, or its last one.
func (t *tools) run(ctx context.Context, st Store, target, name string) (store.RunID, error) {
	if name == "" {
		site, err := st.Site(ctx, target)
		if errors.Is(err, store.ErrNotFound) {
			return "", fmt.Errorf("%s has never been audited in a batch; audit_agentic_url audits it now", target)
		}
		if err != nil {
			return "", t.ours(ctx, err)
		}
		return site.LastRun, nil
	}
	b, err := t.batch(ctx, st, name)
	if err != nil {
		return "", err
	}
	run, err := st.FindRun(ctx, b.ID, target, "")
	if errors.Is(err, store.ErrNotFound) {
		return "", fmt.Errorf("%s is not in batch %s; list_results with host finds what is", target, b.ID)
	}
	if err != nil {
		return "", t.ours(ctx, err)
	}
	return run, nil
}
