package profile

import (
	"strconv"
	"strings"

	"agentaudit/audit/jsontree"
	"agentaudit/fetch/weburl"
)

// site judges what the schema cannot say and reports the first broken rule, in
// the order of specification section 3. It sets the parsed links.
func (c *collector) site(s *Site) bool {
	links := linkCache{}
	rules := []func(*Site, linkCache) bool{
		c.siteOrigin, c.retrieved, c.links, c.uniqueResources, c.documents, c.operationPaths, c.uniqueOperations, c.compactSize,
	}
	for _, rule := range rules {
		if !rule(s, links) {
			return false
		}
	}
	return true
}

// linkCache keeps parsed site links by their spelling: pages are named as the
// source of many resources.
type linkCache map[string]link

type link struct {
	url *weburl.URL
	err error
}

func (l linkCache) parse(raw string) (*weburl.URL, error) {
	if known, ok := l[raw]; ok {
		return known.url, known.err
	}
	u, err := weburl.ParseSiteLink(jsontree.WellFormed(raw))
	l[raw] = link{u, err}
	return u, err
}

// at reports a problem with a member below the root.
func (c *collector) at(root *jsontree.Node, code Code, tokens []string, format string, args ...any) bool {
	n := root
	for _, t := range tokens {
		if n.Kind == jsontree.Array {
			i, _ := strconv.Atoi(t)
			n = &n.Items[i]
		} else {
			n = n.Get(t)
		}
	}
	c.add(code, n.Offset(), jsontree.Pointer(tokens...), format, args...)
	return false
}

func (c *collector) siteOrigin(s *Site, _ linkCache) bool {
	u, err := weburl.ParseSiteLink(jsontree.WellFormed(s.Origin))
	if err != nil {
		return c.at(s.root, CodeOrigin, []string{"origin"}, "must be the https origin of a public site: %v", err)
	}
	if u.Origin() != s.Origin {
		return c.at(s.root, CodeOrigin, []string{"origin"}, "must be the bare origin as browsers write it, which is %s", Show(u.Origin(), 300))
	}
	return true
}

func (c *collector) retrieved(s *Site, _ linkCache) bool {
	for _, r := range s.Resources {
		if r.Availability == Retrieved {
			return true
		}
	}
	return c.at(s.root, CodeRetrieved, []string{"resources"}, `at least one resource must have the availability "retrieved"`)
}

func (c *collector) links(s *Site, links linkCache) bool {
	for i := range s.Resources {
		r := &s.Resources[i]
		var err error
		if r.Link, err = links.parse(r.URL); err != nil {
			return c.at(s.root, CodeLink, []string{"resources", strconv.Itoa(i), "url"}, "this link cannot stand in a site profile: %v", err)
		}
		if r.SourceLink, err = links.parse(r.Source); err != nil {
			return c.at(s.root, CodeLink, []string{"resources", strconv.Itoa(i), "source"}, "this link cannot stand in a site profile: %v", err)
		}
	}
	return true
}

func (c *collector) uniqueResources(s *Site, _ linkCache) bool {
	type key struct {
		kind     ResourceKind
		location string
	}
	seen := make(map[key]int, len(s.Resources))
	for i, r := range s.Resources {
		k := key{r.Kind, r.Link.Location()}
		if first, ok := seen[k]; ok {
			return c.at(s.root, CodeUniqueResource, []string{"resources", strconv.Itoa(i)},
				"resource %d lists the same URL as the same kind; remove one of the two", first)
		}
		seen[k] = i
	}
	return true
}

func (c *collector) documents(s *Site, links linkCache) bool {
	retrieved := map[string]bool{}
	for _, r := range s.Resources {
		if r.Kind == KindOpenAPI && r.Availability == Retrieved {
			retrieved[r.Link.Location()] = true
		}
	}
	for i := range s.APIs {
		a := &s.APIs[i]
		where := []string{"apis", strconv.Itoa(i), "document"}
		var err error
		if a.Link, err = links.parse(a.Document); err != nil {
			return c.at(s.root, CodeDocument, where, "this link cannot stand in a site profile: %v", err)
		}
		if !retrieved[a.Link.Location()] {
			return c.at(s.root, CodeDocument, where, `resources must list this URL with kind "openapi" and availability "retrieved"`)
		}
	}
	return true
}

// IndexablePath reports whether an operation of this path may stand in a site
// profile: it starts with one slash and holds no ?, # or backslash. Its length
// is left to the schema.
func IndexablePath(path string) bool {
	return strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") && !strings.ContainsAny(path, `?#\`)
}

func (c *collector) operationPaths(s *Site, _ linkCache) bool {
	for i, a := range s.APIs {
		for j, o := range a.Operations {
			if !IndexablePath(o.Path) {
				return c.at(s.root, CodeOperationPath, []string{"apis", strconv.Itoa(i), "operations", strconv.Itoa(j), "path"},
					"must start with one / and hold no ?, # or backslash, is %s", Show(o.Path, 60))
			}
		}
	}
	return true
}

func (c *collector) uniqueOperations(s *Site, _ linkCache) bool {
	for i, a := range s.APIs {
		type key struct{ method, path string }
		seen := make(map[key]int, len(a.Operations))
		for j, o := range a.Operations {
			k := key{o.Method, o.Path}
			if first, ok := seen[k]; ok {
				return c.at(s.root, CodeUniqueOperation, []string{"apis", strconv.Itoa(i), "operations", strconv.Itoa(j)},
					"operation %d has the same method and path; remove one of the two", first)
			}
			seen[k] = j
		}
	}
	return true
}

func (c *collector) compactSize(s *Site, _ linkCache) bool {
	if size := jsontree.CompactSize(s.root); size > MaxSize {
		return c.at(s.root, CodeSize, nil, "the profile has %d bytes without white space, at most %d are allowed; leave out operations or resources", size, MaxSize)
	}
	return true
}
