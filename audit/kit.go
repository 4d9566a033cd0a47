package audit

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"agentaudit/audit/discovery"
	"agentaudit/audit/jsontree"
	"agentaudit/audit/profile"
	"agentaudit/audit/publication"
	"agentaudit/audit/report"
	"agentaudit/fetch/weburl"
)

// FixKit is the fix kit of a bundle: what its owner can publish to mend what
// [Judge] finds wrong. found is what a scan of the site came to, nil where
// there was none. It is a pure function.
func FixKit(b *Bundle, found *discovery.Report) *publication.Kit {
	j := newJudge(b)
	return j.kit(j.result().Report, found)
}

// kit makes the fix kit. A kit that cannot be made is one without files that
// says so: there always is a report to go by.
func (j *judge) kit(r *report.Report, found *discovery.Report) *publication.Kit {
	f := publication.Facts{ProfileURL: j.t.ProfileURL, Profile: j.s.doc, Report: r}
	for i := range j.b.Reads {
		if read := &j.b.Reads[i]; read.Role == RoleReadme && read.URL == r.Readme.URL && read.answered(http.StatusOK) {
			f.Readme = read.Body
		}
	}
	switch {
	case found != nil && found.Error != "":
		f.Missing = "a scan that began at " + found.RequestedURL + " came to nothing: " + stopless(shown(found.Error, 600))
	case found != nil:
		var err error
		if f.Generated, err = forAudit(found, j.t); err != nil {
			f.Missing = stopless(err.Error())
		}
	case j.s.read.Status == 0:
		f.Missing = "the site gave no answer, so that there was nothing to scan"
	default:
		f.Missing = "the site was not scanned"
	}
	if !r.Valid {
		f.Amended = j.amend(found, f.Generated)
	}
	k, err := publication.FixKit(f)
	if err != nil && f.Amended != nil {
		f.Amended = nil
		k, err = publication.FixKit(f)
	}
	if err != nil {
		f.Generated, f.Missing = nil, stopless(err.Error())
		f.Profile = nil
		if k, err = publication.FixKit(f); err != nil {
			k = &publication.Kit{ProfileURL: j.t.ProfileURL.String(), Files: []publication.File{}, ByHand: []string{"No files could be generated: " + sentence(err.Error())}}
		}
	}
	return k
}

// forAudit is the profile of a scan, changed so that one audit reads all that
// it lists as read: documents beyond the limit are listed as linked where a
// page refers to them, and otherwise left out. So are OpenAPI documents at the
// addresses of the publication, which takes their place.
func forAudit(found *discovery.Report, t Target) (*profile.Document, error) {
	doc, err := profile.Decode(found.Profile)
	if err != nil {
		return nil, fmt.Errorf("the profile of the scan: %w", err)
	}
	site, ok := doc.Validate(profile.Options{}).Profile.(*profile.Site)
	if !ok {
		return doc, nil
	}
	at, err := weburl.Parse(site.Origin + t.ProfileURL.Path())
	if err != nil {
		return nil, err
	}
	replaced := map[string]bool{}
	for _, name := range []string{at.Path(), publication.NameText, publication.NameReadme, publication.NameListing} {
		u, err := at.Resolve(name)
		if err != nil {
			return nil, err
		}
		replaced[u.Location()] = true
	}
	shorter := *site
	shorter.APIs = slices.DeleteFunc(slices.Clone(site.APIs), func(a profile.API) bool { return replaced[a.Link.Location()] })
	kept := slices.DeleteFunc(slices.Clone(site.Resources), func(r profile.Resource) bool {
		return r.Kind == profile.KindOpenAPI && replaced[r.Link.Location()]
	})
	shorter.Resources = kept
	s := &subject{site: &shorter}
	s.siteDocuments(Target{ProfileURL: at})
	if len(s.unread) == 0 && len(kept) == len(site.Resources) {
		return doc, nil
	}
	unread := map[string]bool{}
	for _, u := range s.unread {
		unread[u] = true
	}
	shorter.Resources = nil
	for _, r := range kept {
		if unread[r.URL] && r.Availability == profile.Retrieved {
			if r.Source == r.URL {
				continue
			}
			r.Availability = profile.Linked
		}
		shorter.Resources = append(shorter.Resources, r)
	}
	tree, err := jsontree.ParseText(jsontree.Stringify(shorter.Node(), ""))
	if err != nil {
		return nil, err
	}
	return profile.FromTree(tree), nil
}

// stopless is a sentence without its full stop, for inside another.
func stopless(s string) string { return strings.TrimSuffix(s, ".") }
