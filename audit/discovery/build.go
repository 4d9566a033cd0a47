package discovery

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"time"

	"agentaudit/audit/jsontree"
	"agentaudit/audit/openapi"
	"agentaudit/audit/profile"
	"agentaudit/audit/publication"
	"agentaudit/audit/report"
	"agentaudit/audit/textindex"
)

// maxWritten is the size in bytes that a generated agentic.json is shortened
// to (specification sections 8 and 9).
const maxWritten = 60_000

func (s *scan) sortedObservations() []report.Observation {
	out := slices.Clone(s.observations)
	slices.SortStableFunc(out, func(a, b report.Observation) int { return cmp.Compare(a.URL, b.URL) })
	return out
}

// report writes the report and the files.
func (s *scan) report(at time.Time) (*Report, error) {
	r := &Report{
		ReportVersion: Version, Kind: Kind, RequestedURL: s.start.Location(), Origin: s.origin, ObservedAt: instant(at), Mode: ModeSite,
		Sources: s.found.sorted(), Observations: s.sortedObservations(), Notes: []string{},
		Requests: s.requests, Bytes: s.bytes, BudgetUsed: s.used, Limitation: limitation, Robots: s.robots, indexes: s.indexes,
	}
	for _, n := range []struct {
		when bool
		note string
	}{{s.limited, noteLimit}, {s.found.cut, noteResources}, {s.cutAPIs, noteAPIs}, {len(s.apis) == 0, noteNoAPI}} {
		if n.when {
			r.Notes = append(r.Notes, n.note)
		}
	}
	doc := s.existing.doc
	if doc != nil {
		r.Mode, r.ProfileURL = ModeAction, s.existing.at.Location()
		r.Notes = append(r.Notes, s.bindingNotes()...)
	} else {
		site, notes := s.site(r.Sources)
		r.Notes = append(r.Notes, notes...)
		r.ProfileURL = textindex.DefaultURL(site)
		tree, err := jsontree.ParseText(jsontree.Stringify(site.Node(), ""))
		if err != nil {
			return nil, fmt.Errorf("the scan of %s made a profile that is no JSON: %w", s.start, err)
		}
		doc = profile.FromTree(tree)
	}
	files, err := publication.Bundle(doc, publication.Options{ProfileURL: r.ProfileURL})
	if err != nil {
		return nil, &Error{URL: s.start.Location(), Message: fmt.Sprintf("no files can be written for its profile: %v", err), Observations: r.Observations, Err: err}
	}
	r.Files = files
	r.Profile = json.RawMessage(jsontree.Stringify(&doc.Tree.Root, ""))
	return r, nil
}

// bindingNotes say which bindings of the preserved action profile could not be
// checked, or do not hold.
func (s *scan) bindingNotes() (notes []string) {
	for _, path := range s.existing.a.OpenAPIPaths() {
		problem := "the document was not read"
		if u, err := s.originURL.Resolve(path); err == nil {
			if a, ok := s.contents[u.Location()]; ok {
				problem = bindingProblem(a, s.existing.a.ActionsOf(path))
			}
		}
		if problem != "" {
			notes = append(notes, fmt.Sprintf("The existing action profile was kept as it is, but its bindings to %s are not confirmed: %s.", profile.Show(path, 120), problem))
		}
	}
	return notes
}

// bindingProblem is a clause, "" where the bindings hold.
func bindingProblem(a api, actions []profile.ActionItem) string {
	if a.err != nil {
		return a.err.Error()
	}
	d, err := openapi.Parse(a.body)
	if err != nil {
		return "the document is not readable: " + err.Error()
	}
	if problems := openapi.CheckBindings(d, actions); len(problems) > 0 {
		return problems[0].String()
	}
	return ""
}

// site makes a site profile of what was found, small enough to be written.
func (s *scan) site(sources []Source) (p *profile.Site, notes []string) {
	host := cutText(s.originURL.Hostname(), profile.MaxNameLength)
	p = &profile.Site{Origin: s.origin, HasSchema: true, Name: cmp.Or(s.name, s.titleOfAPI, host)}
	p.Description = cmp.Or(s.description, s.descriptionOfAPI, "Public pages, documentation and interfaces of "+p.Name+".")
	for _, r := range sources {
		p.Resources = append(p.Resources, profile.Resource{Kind: r.Kind, URL: r.URL, Source: r.Source, Availability: r.Availability, Title: r.Title})
	}
	for _, a := range s.apis {
		if lists(p.Resources, a.Document) {
			p.APIs = append(p.APIs, a)
		}
	}
	slices.SortFunc(p.APIs, func(a, b profile.API) int { return cmp.Compare(a.Document, b.Document) })

	all := *p
	shorten := func(n int, short func(all profile.Site, n int) *profile.Site) bool {
		k := sort.Search(n, func(k int) bool { return fits(short(all, k)) })
		p = short(all, k)
		all = *p
		return k > 0
	}
	operations := 0
	for _, a := range all.APIs {
		operations += len(a.Operations)
	}
	if shorten(operations, dropOperations) {
		notes = append(notes, noteOperations)
	}
	if shorten(len(all.Resources)-1, dropResources) {
		notes = append(notes, noteLinks)
	}
	return p, notes
}

// lists reports whether an OpenAPI document is among the retrieved resources.
func lists(resources []profile.Resource, document string) bool {
	return slices.ContainsFunc(resources, func(r profile.Resource) bool {
		return r.Kind == profile.KindOpenAPI && r.URL == document && r.Availability == profile.Retrieved
	})
}

// fits reports whether the profile and its text index are small enough.
func fits(p *profile.Site) bool {
	if len(jsontree.Stringify(p.Node(), "  "))+1 > maxWritten {
		return false
	}
	_, err := textindex.Build(p, textindex.DefaultURL(p), textindex.Publication)
	return err == nil
}

// dropOperations leaves out n operations, each the last of the index that is
// then the longest; of equally long ones the first is cut.
func dropOperations(p profile.Site, n int) *profile.Site {
	p.APIs = slices.Clone(p.APIs)
	for range n {
		longest := 0
		for i, a := range p.APIs {
			if len(a.Operations) > len(p.APIs[longest].Operations) {
				longest = i
			}
		}
		a := &p.APIs[longest]
		a.Operations = a.Operations[:len(a.Operations)-1]
	}
	return &p
}

// dropResources leaves out n resources: linked ones first, then those that are
// no web page, each time the last. The index of a document that is left out
// goes with it.
func dropResources(p profile.Site, n int) *profile.Site {
	p.Resources = slices.Clone(p.Resources)
	for range n {
		i := lastIndex(p.Resources, func(r profile.Resource) bool { return r.Availability == profile.Linked })
		if i < 0 {
			i = lastIndex(p.Resources, func(r profile.Resource) bool { return r.Kind != profile.KindWebsite })
		}
		if i < 0 {
			i = len(p.Resources) - 1
		}
		p.Resources = slices.Delete(p.Resources, i, i+1)
	}
	p.APIs = slices.DeleteFunc(slices.Clone(p.APIs), func(a profile.API) bool { return !lists(p.Resources, a.Document) })
	return &p
}

func lastIndex(resources []profile.Resource, f func(profile.Resource) bool) int {
	for i := len(resources) - 1; i >= 0; i-- {
		if f(resources[i]) {
			return i
		}
	}
	return -1
}
