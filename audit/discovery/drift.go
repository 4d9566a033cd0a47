package discovery

import (
	"net/http"
	"slices"

	"agentaudit/audit/jsontree"
	"agentaudit/audit/profile"
	"agentaudit/audit/report"
)

// Drift is how a published site profile differs from what a fresh scan of the
// site found. It is information and decides nothing. All lists are sorted as
// in their sources: operations by document as published, resources by kind and
// URL.
type Drift struct {
	// OperationsAdded are in an indexed document, but not in its index;
	// OperationsGone the other way round.
	OperationsAdded []DriftOperation `json:"operationsAdded"`
	OperationsGone  []DriftOperation `json:"operationsGone"`
	// ConnectionsUnlisted are MCP, A2A and Agent Auth resources that the site
	// advertises and the profile does not list.
	ConnectionsUnlisted []Source `json:"connectionsUnlisted"`
	// DocumentsUnlisted are OpenAPI documents that the scan read and the profile
	// does not list.
	DocumentsUnlisted []Source `json:"documentsUnlisted"`
	// DocumentsVanished are listed as retrieved, and answered with status 404 or
	// 410.
	DocumentsVanished []Source `json:"documentsVanished"`
}

// DriftOperation is an operation of an OpenAPI document.
type DriftOperation struct {
	Document string `json:"document"`
	Method   string `json:"method"`
	Path     string `json:"path"`
}

// Empty reports whether there is no difference.
func (d *Drift) Empty() bool {
	return len(d.OperationsAdded)+len(d.OperationsGone)+len(d.ConnectionsUnlisted)+len(d.DocumentsUnlisted)+len(d.DocumentsVanished) == 0
}

// maxOperation is about the size of the largest operation in a profile, in
// bytes.
const maxOperation = 4 << 10

// Compare finds out what has changed since a valid site profile was made. What
// was not seen is no difference. reads are what was read of the site beside the
// scan, as by an audit: no page need link to a document that has vanished any
// more. r must come from [Scan] itself: a report that was read back from JSON no
// longer has the full indexes, and then operations are compared with those of
// its profile alone.
func Compare(published *profile.Site, r *Report, reads []report.Observation) *Drift {
	d := &Drift{
		OperationsAdded: []DriftOperation{}, OperationsGone: []DriftOperation{},
		ConnectionsUnlisted: []Source{}, DocumentsUnlisted: []Source{}, DocumentsVanished: []Source{},
	}
	// A profile that had to be shortened is not far below the limit.
	small := len(jsontree.Stringify(published.Node(), "  ")) < maxWritten-2*maxOperation
	for _, a := range published.APIs {
		if now, ok := r.operations(a.Link.Location()); ok {
			d.compareAPI(a, now, small)
		}
	}
	for _, s := range r.Sources {
		if listed(published, s) {
			continue
		}
		switch {
		case s.Kind == profile.KindMCP || s.Kind == profile.KindA2A || s.Kind == profile.KindAgentAuth:
			d.ConnectionsUnlisted = append(d.ConnectionsUnlisted, s)
		case s.Kind == profile.KindOpenAPI && s.Availability == profile.Retrieved:
			d.DocumentsUnlisted = append(d.DocumentsUnlisted, s)
		}
	}
	for _, p := range published.Resources {
		if p.Availability == profile.Retrieved && vanished(p.Link.Location(), r.Observations, reads) {
			d.DocumentsVanished = append(d.DocumentsVanished, Source{p.Kind, p.URL, p.Source, p.Availability, p.Title})
		}
	}
	return d
}

func listed(published *profile.Site, s Source) bool {
	return slices.ContainsFunc(published.Resources, func(p profile.Resource) bool {
		return p.Kind == s.Kind && p.Link.Location() == s.URL
	})
}

// operations are those of a document as the scan found it; ok is false where
// it did not read it as an OpenAPI document.
func (r *Report) operations(document string) (list []profile.Operation, ok bool) {
	if r.indexes != nil {
		list, ok = r.indexes[document]
		return list, ok
	}
	doc, err := profile.Decode(r.Profile)
	if err != nil {
		return nil, false
	}
	site, isSite := doc.Validate(profile.Options{}).Profile.(*profile.Site)
	if !isSite {
		return nil, false
	}
	for _, a := range site.APIs {
		if a.Document == document {
			return a.Operations, true
		}
	}
	return nil, false
}

// vanished reports whether reads were told that there is no such document. The
// first that was told anything about it counts.
func vanished(url string, reads ...[]report.Observation) bool {
	for _, o := range slices.Concat(reads...) {
		if o.URL == url && o.Status != 0 {
			return o.Status == http.StatusNotFound || o.Status == http.StatusGone
		}
	}
	return false
}

// compareAPI compares an index with the operations of its document. An index
// that is full, or was cut to keep the profile small, lacks operations on
// purpose: what it lists is the beginning of what there is.
func (d *Drift) compareAPI(a profile.API, now []profile.Operation, small bool) {
	type key struct{ method, path string }
	keys := func(list []profile.Operation) map[key]bool {
		set := map[key]bool{}
		for _, o := range list {
			set[key{o.Method, o.Path}] = true
		}
		return set
	}
	then, current := keys(a.Operations), keys(now)
	isBeginning := len(a.Operations) < len(now)
	for i, o := range a.Operations {
		if !current[key{o.Method, o.Path}] {
			d.OperationsGone = append(d.OperationsGone, DriftOperation{a.Document, o.Method, o.Path})
		}
		isBeginning = isBeginning && now[i].Method == o.Method && now[i].Path == o.Path
	}
	if isBeginning && (len(a.Operations) == profile.MaxOperations || !small) {
		return
	}
	for _, o := range now {
		if !then[key{o.Method, o.Path}] {
			d.OperationsAdded = append(d.OperationsAdded, DriftOperation{a.Document, o.Method, o.Path})
		}
	}
}
