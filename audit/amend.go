package audit

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"agentaudit/audit/discovery"
	"agentaudit/audit/jsontree"
	"agentaudit/audit/openapi"
	"agentaudit/audit/profile"
	"agentaudit/audit/publication"
	"agentaudit/fetch/weburl"
)

// amendment is a published site profile that is not right, on its way to one
// that is: what the audit objects to is changed, and all else stays as its
// owner wrote it.
type amendment struct {
	j *judge
	// found is the scan, nil where there was none; made is the site profile
	// that it came to, nil where that is none.
	found *discovery.Report
	made  *profile.Site
	site  profile.Site
	// judged says that the audit has read the documents of the profile, as far
	// as it reads them.
	judged bool
	// settled are the documents that need nothing more, by location.
	settled map[string]bool
	// notes say what is changed, a sentence each; unseen are the documents that
	// nobody has read.
	notes, unseen []string
	// copied is the other origin that the profile spoke for, "" for none.
	copied string
}

// amend mends the published site profile. It returns nil where there is none,
// or where nothing valid can be made of it. generated is the profile of the
// scan, nil without one.
func (j *judge) amend(found *discovery.Report, generated *profile.Document) *publication.Amendment {
	doc := j.published()
	if doc == nil || doc.Type != profile.SiteType || found != nil && found.Error != "" {
		return nil
	}
	if draft := doc.Draft(); draft.Name == "" && len(draft.Resources) == 0 {
		return nil // nothing to keep
	}
	a := &amendment{j: j, found: found, site: *doc.Draft(), judged: j.s.site != nil && j.s.ownOrigin, settled: map[string]bool{}}
	if generated != nil {
		a.made, _ = generated.Validate(profile.Options{}).Profile.(*profile.Site)
	}
	if !a.move() {
		return nil
	}
	a.unreadable(doc)
	for range maxAmendments {
		amended := siteDocument(&a.site)
		v := amended.Validate(profile.Options{})
		site, ok := v.Profile.(*profile.Site)
		switch {
		case !ok && !a.repair(v.Problems):
			return nil
		case !ok:
		case a.settle(site):
			return &publication.Amendment{Profile: amended, Changes: a.notes, ByHand: a.byHand()}
		}
	}
	return nil
}

// maxAmendments bounds the rounds for profiles in which much is wrong.
const maxAmendments = 60

// published is the JSON that was read at the place of the profile, also where
// a byte order mark or a name that stands twice make it unusable.
func (j *judge) published() *profile.Document {
	if j.s.doc != nil {
		return j.s.doc
	}
	if j.s.read.answer(false) != answerFile {
		return nil
	}
	doc, err := profile.Decode(bytes.TrimPrefix(j.s.read.Body, []byte("\xef\xbb\xbf")))
	if err != nil {
		return nil
	}
	return doc
}

// siteDocument is a site profile as JSON.
func siteDocument(s *profile.Site) *profile.Document {
	tree, err := jsontree.ParseText(jsontree.Stringify(s.Node(), ""))
	if err != nil {
		panic(fmt.Sprintf("audit: a profile that was written cannot be read: %v", err))
	}
	return profile.FromTree(tree)
}

func (a *amendment) note(format string, args ...any) {
	a.notes = append(a.notes, sentence(fmt.Sprintf(format, args...)))
}

// named is a text of the profile for a note.
func named(s string) string { return shown(wellFormed1(s), 300) }

// move sets the origin: the one that the site's visitors end up at, without a
// scan the one that serves the profile.
func (a *amendment) move() bool {
	serving := a.j.t.ProfileURL.Origin()
	to := serving
	if a.made != nil {
		to = a.made.Origin
	} else if j := a.j; j.s.validation != nil && j.s.validation.Valid() && !j.s.ownOrigin {
		return false // which of the two origins is right cannot be told
	}
	if a.site.Origin != to {
		a.note("origin is %s instead of %q", to, named(a.site.Origin))
		if a.site.Origin != serving {
			a.copied = a.site.Origin
		}
		a.site.Origin = to
	}
	if to == serving {
		return true
	}
	moved := 0
	rewrite := func(raw *string) {
		u, err := weburl.ParseSiteLink(wellFormed1(*raw))
		if err != nil || u.Origin() != serving || a.passed(u) {
			return
		}
		if u, err = weburl.ParseSiteLink(to + strings.TrimPrefix(u.Location(), serving)); err == nil {
			*raw = u.Location()
			moved++
		}
	}
	a.site.Resources, a.site.APIs = slices.Clone(a.site.Resources), slices.Clone(a.site.APIs)
	for i := range a.site.Resources {
		rewrite(&a.site.Resources[i].URL)
		rewrite(&a.site.Resources[i].Source)
	}
	for i := range a.site.APIs {
		rewrite(&a.site.APIs[i].Document)
	}
	if moved > 0 {
		a.note("addresses on %s are those on %s, to which it sends its visitors", serving, to)
	}
	return true
}

// passed reports whether the audit found a document in order.
func (a *amendment) passed(u *weburl.URL) bool {
	d := a.judgedAs(u)
	return d != nil && a.failure(d) == nil
}

// failure is how a document failed in the audit, nil where it did not.
func (a *amendment) failure(d *document) *failure {
	all := slices.Concat(a.j.wrong, a.j.troubled)
	if i := slices.IndexFunc(all, func(f failure) bool { return f.doc == d }); i >= 0 {
		return &all[i]
	}
	return nil
}

// judgedAs is the document of the audit with a location, nil where it judged
// none.
func (a *amendment) judgedAs(u *weburl.URL) *document {
	for i := range a.j.s.documents {
		if d := &a.j.s.documents[i]; d.url != nil && d.url.Location() == u.Location() {
			return d
		}
	}
	return nil
}

// settle looks at the documents that the next audit will read and changes the
// profile where one would not pass. It returns true when all of them will, as
// far as is known.
func (a *amendment) settle(site *profile.Site) bool {
	at, err := weburl.Parse(site.Origin + a.j.t.ProfileURL.Path())
	if err != nil {
		panic(fmt.Sprintf("audit: %s of a valid profile: %v", site.Origin, err))
	}
	s := &subject{site: site}
	s.siteDocuments(Target{ProfileURL: at})
	a.site = *site
	for i := range s.documents {
		d := &s.documents[i]
		if loc := d.url.Location(); !a.settled[loc] {
			a.settled[loc] = true
			if a.document(d) {
				return false
			}
		}
	}
	if !a.judged {
		a.unseen = append(a.unseen, s.unread...)
	}
	return true
}

// document changes what the profile says of one document, if it has to.
func (a *amendment) document(d *document) (changed bool) {
	if known := a.judgedAs(d.url); known != nil {
		f := a.failure(known)
		return f != nil && a.failed(d, *f)
	}
	if a.found == nil {
		a.unseen = append(a.unseen, d.name)
		return false
	}
	loc := d.url.Location()
	if a.made != nil && slices.ContainsFunc(a.made.Resources, func(r profile.Resource) bool {
		return r.Link.Location() == loc && r.Availability == profile.Retrieved && (r.Kind == profile.KindOpenAPI || !d.openapi)
	}) {
		return d.openapi && a.index(d, a.scanned(loc))
	}
	for _, o := range a.found.Observations {
		switch {
		case o.URL != loc:
		case o.Status == http.StatusNotFound || o.Status == http.StatusGone:
			return a.remove(d, fmt.Sprintf("it answers with %s", statusWords(o.Status)))
		case o.Error != "":
			return a.link(d, o.Error)
		case o.Status != http.StatusOK:
			return a.link(d, fmt.Sprintf("it answers with %s", statusWords(o.Status)))
		case d.openapi:
			return a.link(d, "the scan found no OpenAPI 3 document there")
		default:
			return false
		}
	}
	a.unseen = append(a.unseen, d.name)
	return false
}

// byHand says what is left to look at.
func (a *amendment) byHand() []string {
	var list []string
	if a.copied != "" {
		list = append(list, fmt.Sprintf("agentic.json spoke for %q: see that its name, its description and its resources are those of %s.", named(a.copied), a.site.Origin))
	}
	if len(a.unseen) == 0 {
		return list
	}
	return append(list, "Nobody has read these documents that agentic.json lists as retrieved; see that each answers with status 200, or list it as linked: "+named(strings.Join(a.unseen, ", ")))
}

// failed changes what the profile says of a document that the audit objects to.
func (a *amendment) failed(d *document, f failure) bool {
	if f.read != nil && (f.read.answered(http.StatusNotFound) || f.read.answered(http.StatusGone)) {
		return a.remove(d, f.detail)
	}
	if f.read != nil && f.read.answer(true) == answerFile && d.indexes != nil {
		if doc, err := openapi.Parse(f.read.Body); err == nil && len(openapi.CheckDocument(doc)) == 0 {
			ids := idsOf(doc.Operations())
			return a.index(d, func(o profile.Operation) (id string, ok bool) {
				for _, p := range openapi.CheckIndex(doc, profile.API{Operations: []profile.Operation{o}}) {
					if p.Code != openapi.CodeOperationID {
						return "", false
					}
					o.OperationID = ids[keyOf(o)]
				}
				return o.OperationID, true
			})
		}
	}
	return a.link(d, f.detail)
}

// scanned looks operations up in the index that the scan made. One that is
// full, or was shortened, does not tell what there is not.
func (a *amendment) scanned(loc string) func(profile.Operation) (string, bool) {
	one := a.site // with this document's index alone
	one.APIs = slices.DeleteFunc(slices.Clone(one.APIs), func(api profile.API) bool { return api.Link.Location() != loc })
	gone := map[operationKey]bool{}
	for _, o := range discovery.Compare(&one, a.found, nil).OperationsGone {
		gone[operationKey{o.Method, o.Path}] = true
	}
	ids := map[operationKey]string{}
	for _, api := range a.made.APIs {
		if api.Link.Location() == loc {
			ids = idsOf(api.Operations)
		}
	}
	return func(o profile.Operation) (id string, ok bool) {
		if id, ok := ids[keyOf(o)]; ok && o.OperationID != "" {
			o.OperationID = id
		}
		return o.OperationID, !gone[keyOf(o)]
	}
}

type operationKey struct{ method, path string }

func keyOf(o profile.Operation) operationKey { return operationKey{o.Method, o.Path} }

// idsOf are the operation ids of operations.
func idsOf(all []profile.Operation) map[operationKey]string {
	ids := make(map[operationKey]string, len(all))
	for _, o := range all {
		ids[keyOf(o)] = o.OperationID
	}
	return ids
}

// index keeps the operations of a document that are there, each with the
// operation id that it has now.
func (a *amendment) index(d *document, look func(profile.Operation) (id string, ok bool)) (changed bool) {
	loc := d.url.Location()
	var gone, renamed []string
	apis := slices.Clone(a.site.APIs)
	for i, api := range apis {
		if api.Link.Location() != loc {
			continue
		}
		var kept []profile.Operation
		for _, o := range api.Operations {
			id, ok := look(o)
			switch {
			case !ok:
				gone = append(gone, o.Method+" "+o.Path)
				continue
			case id != o.OperationID:
				renamed = append(renamed, o.Method+" "+o.Path)
				o.OperationID = id
			}
			kept = append(kept, o)
		}
		apis[i].Operations = kept
	}
	if len(gone) > 0 {
		a.note("%s left out of the index of %s, because the document does not have them: %s", count(len(gone), "operation is", "operations are"), named(d.name), named(strings.Join(gone, ", ")))
	}
	if len(renamed) > 0 {
		a.note("%s in the index of %s as in the document: %s", count(len(renamed), "operationId is", "operationIds are"), named(d.name), named(strings.Join(renamed, ", ")))
	}
	a.site.APIs = apis
	return len(gone)+len(renamed) > 0
}

// remove takes a document out of the profile.
func (a *amendment) remove(d *document, why string) bool {
	loc := d.url.Location()
	a.site.Resources = slices.DeleteFunc(slices.Clone(a.site.Resources), func(r profile.Resource) bool {
		return r.Link.Location() == loc && r.Kind != profile.KindMCP
	})
	a.unindex(loc)
	a.note("%s is left out: %s", named(d.name), why)
	return true
}

// link lists a document as one that nobody has read.
func (a *amendment) link(d *document, why string) bool {
	loc := d.url.Location()
	a.site.Resources = slices.Clone(a.site.Resources)
	for i := range a.site.Resources {
		if r := &a.site.Resources[i]; r.Link.Location() == loc && r.Kind != profile.KindMCP {
			r.Availability = profile.Linked
		}
	}
	more := ""
	if a.unindex(loc) {
		more = ", and without its operations"
	}
	a.note("%s is listed as linked instead of retrieved%s: %s", named(d.name), more, why)
	return true
}

// unindex leaves out what the profile lists of a document's operations.
func (a *amendment) unindex(loc string) bool {
	before := len(a.site.APIs)
	a.site.APIs = slices.DeleteFunc(slices.Clone(a.site.APIs), func(api profile.API) bool { return api.Link.Location() == loc })
	return len(a.site.APIs) < before
}
