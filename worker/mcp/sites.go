package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"agentaudit/audit"
	"agentaudit/audit/agentstxt"
	"agentaudit/audit/discovery"
	"agentaudit/audit/report"
	"agentaudit/fetch/weburl"
)

type siteInput struct {
	URL string `json:"url" jsonschema:"the site, as in shop.example or https://shop.example"`
}

func (t *tools) discover(ctx context.Context, in siteInput) (*discovery.Report, error) {
	start, err := weburl.ParseStart(in.URL)
	if err != nil {
		return nil, fmt.Errorf("url: %w. Give a public https address, as in https://shop.example", err)
	}
	ctx, leave, err := t.enter(ctx, start.Hostname())
	if err != nil {
		return nil, err
	}
	defer leave()
	v := t.Client.Visit()
	defer v.Close()
	r, err := discovery.Scan(ctx, v, start, discovery.Options{Now: t.Now, Agent: t.Agent})
	if bad, ok := errors.AsType[*discovery.Error](err); ok {
		return nil, fmt.Errorf("no files could be made, because the first document could not be read: %w. Check the address, or try again later if this is a passing trouble", bad)
	}
	if err != nil {
		return nil, t.ours(ctx, err)
	}
	return r, nil
}

type auditInput struct {
	URL       string `json:"url" jsonschema:"the site, a directory on it, or the address of an agentic.json"`
	ReadmeURL string `json:"readmeUrl,omitempty" jsonschema:"the address of the README, if it is not beside the agentic.json"`
}

// auditOutput is the version 3 report with what an audit makes of it.
type auditOutput struct {
	Outcome report.Outcome `json:"outcome" jsonschema:"successful, partial, failed, or unchecked: the site gave no definite answer, which is no verdict"`
	Reason  report.Reason  `json:"reason"`
	Detail  string         `json:"detail"`
	report.Report
}

func (t *tools) audit(ctx context.Context, in auditInput) (*auditOutput, error) {
	target, err := audit.ParseTarget(in.URL, in.ReadmeURL)
	if err != nil {
		return nil, fmt.Errorf("%w. Give public https addresses, as in shop.example", err)
	}
	ctx, leave, err := t.enter(ctx, target.ProfileURL.Hostname())
	if err != nil {
		return nil, err
	}
	defer leave()
	res, err := t.Retry.Audit(ctx, &audit.Auditor{Client: t.Client, Now: t.Now, Log: t.Log}, audit.Attempt{Target: target, Options: audit.Options{NoAgents: true, Discover: audit.DiscoverNever}}, nil)
	if err != nil {
		return nil, t.ours(ctx, err)
	}
	return &auditOutput{res.Outcome, res.Reason, res.Detail, *res.Report}, nil
}

// agentsOutput is the agents.txt report; the members that agents look at first
// are named in the schema, the others stand as they are.
type agentsOutput struct {
	ReportVersion string            `json:"reportVersion"`
	Kind          string            `json:"kind"`
	ObservedAt    string            `json:"observedAt"`
	Origin        string            `json:"origin"`
	Format        agentstxt.Format  `json:"format"`
	Verdict       agentstxt.Verdict `json:"verdict" jsonschema:"valid, invalid, other (another format), absent, or unchecked (no definite answer)"`
	Files         []agentstxt.File  `json:"files"`
	Checks        []agentstxt.Check `json:"checks"`
	Declaration   json.RawMessage   `json:"declaration"`
	Differences   json.RawMessage   `json:"differences"`
}

func (t *tools) agents(ctx context.Context, in siteInput) (*agentsOutput, error) {
	target, err := audit.ParseTarget(in.URL, "")
	if err != nil {
		return nil, fmt.Errorf("url: %w. Give a public https address, as in shop.example", err)
	}
	ctx, leave, err := t.enter(ctx, target.ProfileURL.Hostname())
	if err != nil {
		return nil, err
	}
	defer leave()
	v := t.Client.Visit()
	defer v.Close()
	read, err := audit.ReadAgents(ctx, v, target, t.Now())
	if err != nil {
		return nil, t.ours(ctx, err)
	}
	r := agentstxt.Judge(read)
	out := &agentsOutput{
		ReportVersion: r.ReportVersion, Kind: r.Kind, ObservedAt: r.ObservedAt, Origin: r.Origin, Format: r.Format, Verdict: r.Verdict,
		Files: r.Files, Checks: r.Checks,
	}
	var e1, e2 error
	out.Declaration, e1 = json.Marshal(r.Declaration)
	out.Differences, e2 = json.Marshal(r.Differences)
	if err := errors.Join(e1, e2); err != nil {
		return nil, t.ours(ctx, err)
	}
	return out, nil
}
