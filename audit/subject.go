package audit

import (
	"agentaudit/audit/profile"
	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
)

// subject is what is known of a publication once its profile was read: the
// profile itself, and what has to be read because of it.
type subject struct {
	// read is the read of the profile; it is never nil.
	read *Read
	// unusable says why the JSON cannot be judged, nil if it can; doc is set
	// where the answer could be parsed.
	unusable *unusable
	doc      *profile.Document
	// validation is nil for unusable JSON; site or action is set where the
	// structure is valid.
	validation *profile.Validation
	site       *profile.Site
	action     *profile.Action
	// ownOrigin reports that the profile speaks for the origin that serves it.
	ownOrigin bool
	// documents are to be read, unread are those beyond [MaxDocuments], as
	// written in the profile.
	documents []document
	unread    []string
	// elsewhere counts resources of a site that are never read: mcp, linked,
	// or on another origin.
	elsewhere int
	// llms is read for the record where it is set.
	llms *weburl.URL
}

// unusable is the failure of the json check.
type unusable struct{ detail, remedy string }

// document is one OpenAPI or other document behind a profile.
type document struct {
	// id is the id of its check, name what the profile calls it.
	id, name string
	url      *weburl.URL
	limit    int64
	// actions are bound to it (action profiles).
	actions []profile.ActionItem
	// openapi says that it must be OpenAPI 3, indexes what a site profile
	// says it holds.
	openapi bool
	indexes []profile.API
}

func newSubject(b *Bundle, t Target) *subject {
	s := &subject{read: b.first(RoleProfile)}
	if s.read == nil {
		// Collect reads the profile first; a stored bundle may lack it.
		s.read = &Read{Role: RoleProfile, URL: t.ProfileURL.Location(), Kind: fetch.KindCancelled,
			Message: "agentic.json was not read", Advice: "Audit the site again."}
	}
	if s.unusable = s.parse(t); s.unusable != nil {
		return s
	}
	s.validation = s.doc.Validate(profile.Options{})
	if !s.validation.Valid() {
		return s
	}
	switch p := s.validation.Profile.(type) {
	case *profile.Site:
		s.site = p
	case *profile.Action:
		s.action = p
	}
	s.ownOrigin = s.validation.Profile.ServingOrigin() == t.ProfileURL.Origin()
	switch {
	case !s.ownOrigin:
	case s.site != nil:
		s.siteDocuments(t)
	default:
		s.actionDocuments(t)
	}
	return s
}

// tooManyPaths reports that an action profile names more OpenAPI paths than
// one audit reads; then none is read.
func (s *subject) tooManyPaths() bool { return len(s.action.OpenAPIPaths()) > MaxDocuments }

func (s *subject) actionDocuments(t Target) {
	if s.tooManyPaths() {
		return
	}
	for _, path := range s.action.OpenAPIPaths() {
		u, err := t.ProfileURL.Resolve(path)
		if err != nil || u.Origin() != t.ProfileURL.Origin() {
			// The rules for openapi paths leave no such path; one that
			// leads away all the same must not be followed.
			s.documents = append(s.documents, document{id: "api:" + path, name: path, limit: MaxActionDocument, actions: s.action.ActionsOf(path)})
			continue
		}
		s.documents = append(s.documents, document{id: "api:" + path, name: path, url: u, limit: MaxActionDocument, actions: s.action.ActionsOf(path), openapi: true})
	}
	s.llms = beside(t.ProfileURL, "/llms.txt")
}

// siteDocuments picks the documents of a site profile that are read: retrieved
// resources of its own origin, one for each URL, those that an API indexes
// first, then those of kind openapi, then the rest, in profile order.
func (s *subject) siteDocuments(t Target) {
	indexes := map[string][]profile.API{}
	for _, api := range s.site.APIs {
		key := api.Link.Location()
		indexes[key] = append(indexes[key], api)
	}
	var all []document
	at := map[string]int{}
	for _, r := range s.site.Resources {
		if r.Kind == profile.KindMCP || r.Availability == profile.Linked || r.Link.Origin() != t.ProfileURL.Origin() {
			s.elsewhere++
			continue
		}
		key := r.Link.Location()
		if key == t.ProfileURL.Location() && indexes[key] == nil {
			continue
		}
		i, seen := at[key]
		if !seen {
			i = len(all)
			at[key] = i
			all = append(all, document{id: "resource:" + r.URL, name: r.URL, url: r.Link, limit: MaxSiteDocument, indexes: indexes[key], openapi: indexes[key] != nil})
		}
		all[i].openapi = all[i].openapi || r.Kind == profile.KindOpenAPI
	}
	for rank := range 3 {
		for _, d := range all {
			if d.rank() != rank {
				continue
			}
			if len(s.documents) < MaxDocuments {
				s.documents = append(s.documents, d)
			} else {
				s.unread = append(s.unread, d.name)
			}
		}
	}
}

func (d *document) rank() int {
	switch {
	case d.indexes != nil:
		return 0
	case d.openapi:
		return 1
	}
	return 2
}
