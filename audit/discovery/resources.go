package discovery

import (
	"cmp"
	"slices"

	"agentaudit/audit/profile"
)

// resource is a listed resource.
type resource struct {
	Source
	// linkable is set for a document at a conventional path that nothing has
	// linked to yet: it is its own source until something does.
	linkable bool
}

// resources is the list of what was found, oldest first, at most forty.
type resources struct {
	list []*resource
	// is says as what a URL was read that was taken for something else.
	is  map[string]profile.ResourceKind
	cut bool // something had no room
}

func (l *resources) find(kind profile.ResourceKind, url string) *resource {
	for _, r := range l.list {
		if r.Kind == kind && r.URL == url {
			return r
		}
	}
	return nil
}

// link lists what a page links to, unless it is listed. The first link decides
// on source and title.
func (l *resources) link(s Source) {
	if old := l.find(s.Kind, s.URL); old != nil {
		if old.linkable {
			old.linkable = false
			old.Source.Source = s.Source
			if old.Title == "" {
				old.Title = s.Title
			}
		}
		return
	}
	if kind, known := l.is[s.URL]; known && kind != s.Kind {
		return // listed once, as what it is
	}
	if len(l.list) == profile.MaxResources {
		l.cut = true
		return
	}
	s.Availability = profile.Linked
	l.list = append(l.list, &resource{Source: s})
}

// retrieve lists a document that was read. taken and at say for what kind and
// at what URL it was asked; a link to that is the same resource. A full list
// makes room: the oldest linked resource goes first, then documentation.
func (l *resources) retrieve(s Source, linkable bool, taken profile.ResourceKind, at string) {
	s.Availability = profile.Retrieved
	if taken != s.Kind {
		if l.is == nil {
			l.is = map[string]profile.ResourceKind{}
		}
		l.is[s.URL] = s.Kind
	}
	if s.Kind != taken || s.URL != at {
		l.list = slices.DeleteFunc(l.list, func(r *resource) bool {
			return r.Kind == taken && r.URL == at && r.Availability == profile.Linked
		})
	}
	if old := l.find(s.Kind, s.URL); old != nil {
		// A link to this very URL came first.
		if !old.linkable && old.Availability == profile.Linked {
			s.Source, linkable = old.Source.Source, false
		}
		if s.Title == "" {
			s.Title = old.Title
		}
		*old = resource{s, linkable}
		return
	}
	if len(l.list) == profile.MaxResources {
		l.cut = true
		i := slices.IndexFunc(l.list, func(r *resource) bool { return r.Availability == profile.Linked })
		if i < 0 {
			i = slices.IndexFunc(l.list, func(r *resource) bool { return r.Kind == profile.KindDocumentation })
		}
		if i < 0 {
			return
		}
		l.list = slices.Delete(l.list, i, i+1)
	}
	l.list = append(l.list, &resource{s, linkable})
}

// sorted is the list by kind and URL.
func (l *resources) sorted() []Source {
	out := make([]Source, len(l.list))
	for i, r := range l.list {
		out[i] = r.Source
	}
	slices.SortFunc(out, func(a, b Source) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.URL, b.URL))
	})
	return out
}
