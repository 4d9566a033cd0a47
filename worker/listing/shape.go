package listing

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agentaudit/audit/sitelist"
	"agentaudit/fetch/weburl"
)

// Shape says where a page has its listings, and what each of them says. Of
// several pointers the first counts that leads to something.
type Shape struct {
	// List is the JSON Pointer (RFC 6901) of the list in a page, "" for the
	// page itself. The others are pointers in a listing.
	List   string   `json:"list"`
	Site   []string `json:"site"`
	ID     []string `json:"id"`
	Label  []string `json:"label"`
	Tags   []string `json:"tags"`
	Readme []string `json:"readme"`
	// Origin says that Site leads to endpoints: their origin is audited.
	Origin bool `json:"origin,omitempty"`
}

// String shows the shape to people.
func (s Shape) String() string {
	list := s.List
	if list == "" {
		list = "the whole page"
	}
	out := "listings in " + list + ", the site at " + strings.Join(s.Site, " or ")
	if len(s.ID) > 0 {
		out += ", the id at " + strings.Join(s.ID, " or ")
	}
	if len(s.Label) > 0 {
		out += ", the label at " + strings.Join(s.Label, " or ")
	}
	if s.Origin {
		out += "; the origin of the site is audited"
	}
	return out
}

// The names of members that are looked for, as [plainName] writes them, the
// likeliest first.
var (
	siteNames   = []string{"url", "website", "websiteurl", "site", "siteurl", "homepage", "homepageurl", "domain", "origin", "link", "endpoint"}
	idNames     = []string{"id", "slug", "uuid"}
	labelNames  = []string{"label", "name", "title", "displayname"}
	tagNames    = []string{"tags", "tag", "categories"}
	readmeNames = []string{"readmeurl"}
)

// plainName is a name without case, hyphens and underscores.
func plainName(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
}

// How far a page is searched for lists, and a listing for its site.
const (
	listDepth = 4
	siteDepth = 4
	looked    = 50 // listings of the first page
)

// ShapeError says that a page does not show where its listings are, in words
// that say what to do.
type ShapeError struct{ Message string }

// Error is the message.
func (e *ShapeError) Error() string { return e.Message }

// NewShape finds out the shape of a page. opt says what the user knows: Pointer
// is the list in the page; columns are names of members, or pointers where they
// begin with a slash. The error is an [*ShapeError].
func NewShape(page any, opt sitelist.Options) (Shape, error) {
	var found []candidate
	if opt.Pointer != "" {
		v, ok := follow(page, opt.Pointer)
		list, isList := v.([]any)
		if !ok || !isList {
			return Shape{}, &ShapeError{fmt.Sprintf("there is no list at %s of the first page; --pointer must lead to the listings", opt.Pointer)}
		}
		found = []candidate{{pointer: opt.Pointer, list: list}}
	} else {
		found = lists(page, "", 0, nil)
	}
	best := Shape{}
	bestScore, ties := 0, 0
	for _, c := range found {
		s, score := c.shape(opt)
		switch {
		case score > bestScore:
			best, bestScore, ties = s, score, 1
		case score == bestScore && score > 0:
			ties++
		}
	}
	switch {
	case bestScore == 0 && len(found) == 1 && len(found[0].list) == 0:
		best = Shape{List: found[0].pointer, Site: []string{"/url"}} // an empty directory
	case bestScore == 0:
		return Shape{}, &ShapeError{"no list of sites was found in the first page; say where it is with --pointer /PATH/TO/LIST and where a listing has its site with --column /PATH/IN/LISTING"}
	case ties > 1:
		return Shape{}, &ShapeError{"the first page has several lists of sites; choose one with --pointer"}
	}
	return best, nil
}

// candidate is a list that may be the one.
type candidate struct {
	pointer string
	list    []any
}

// lists finds the lists of a page.
func lists(v any, pointer string, depth int, to []candidate) []candidate {
	switch v := v.(type) {
	case []any:
		return append(to, candidate{pointer, v})
	case map[string]any:
		if depth == listDepth {
			return to
		}
		for _, name := range sorted(v) {
			to = lists(v[name], pointer+"/"+escape(name), depth+1, to)
		}
	}
	return to
}

// shape judges a list: the score is how many listings have a site, 0 for none.
func (c candidate) shape(opt sitelist.Options) (Shape, int) {
	s := Shape{List: c.pointer}
	items := c.list[:min(len(c.list), looked)]
	s.Site = asked(opt.Column)
	if s.Site == nil {
		s.Site = guessSite(items)
	}
	score := 0
	for _, item := range items {
		if siteOf(item, s.Site) != "" {
			score++
		}
	}
	if score == 0 {
		return s, 0
	}
	// What a listing is called stands beside its site, or at its top.
	beside := ""
	if i := strings.LastIndexByte(s.Site[0], '/'); i > 0 {
		beside = s.Site[0][:i]
	}
	pick := func(given string, names []string) []string {
		if p := asked(given); p != nil {
			return p
		}
		var out []string
		for _, under := range slices.Compact([]string{"", beside}) {
			out = append(out, named(items, under, names)...)
		}
		return out
	}
	s.ID = pick(opt.IDColumn, idNames)
	s.Label = pick(opt.LabelColumn, labelNames)
	s.Tags = pick(opt.TagColumn, tagNames)
	s.Readme = pick(opt.ReadmeColumn, readmeNames)
	return s, score
}

// asked is the pointer that a user means, nil for none.
func asked(column string) []string {
	switch {
	case column == "":
		return nil
	case strings.HasPrefix(column, "/"):
		return []string{column}
	}
	return []string{"/" + escape(column)}
}

// named finds the members of listings with one of the names, likeliest first.
func named(items []any, under string, names []string) []string {
	var out []string
	for _, item := range items {
		v, _ := follow(item, under)
		members, _ := v.(map[string]any)
		for _, name := range sorted(members) {
			p := under + "/" + escape(name)
			if slices.Contains(names, plainName(name)) && !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return nameRank(a, names) - nameRank(b, names) })
	return out
}

func nameRank(pointer string, names []string) int {
	return slices.Index(names, plainName(unescape(pointer[strings.LastIndexByte(pointer, '/')+1:])))
}

// guessSite finds where listings have their site: the shallowest member with
// one of the usual names that holds an address, in the order of the names.
func guessSite(items []any) []string {
	if slices.ContainsFunc(items, func(v any) bool { _, ok := v.(string); return ok }) {
		return []string{""}
	}
	var found []string
	for _, item := range items {
		sites(item, "", 0, func(p string) {
			if !slices.Contains(found, p) {
				found = append(found, p)
			}
		})
	}
	slices.SortStableFunc(found, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(nameRank(a, siteNames), nameRank(b, siteNames)))
	})
	return found[:min(len(found), 3)]
}

func sites(v any, pointer string, depth int, to func(pointer string)) {
	if depth == siteDepth {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sorted(v) {
			p := pointer + "/" + escape(name)
			if text, ok := v[name].(string); ok {
				if slices.Contains(siteNames, plainName(name)) && looksLikeSite(text) {
					to(p)
				}
				continue
			}
			sites(v[name], p, depth+1, to)
		}
	case []any:
		if len(v) > 0 && pointer != "" {
			sites(v[0], pointer+"/0", depth+1, to)
		}
	}
}

// looksLikeSite tells addresses from words.
func looksLikeSite(s string) bool {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") {
		return true
	}
	host, _, _ := strings.Cut(s, "/")
	return strings.Contains(host, ".") && !strings.ContainsAny(host, " @:") && len(host) < 256
}

// siteOf is what a listing has for a site, "" for nothing.
func siteOf(item any, pointers []string) string {
	for _, p := range pointers {
		if s := strings.TrimSpace(textAt(item, p)); s != "" {
			return s
		}
	}
	return ""
}

// textAt is a text or number at a pointer, "" for all else.
func textAt(v any, pointer string) string {
	v, _ = follow(v, pointer)
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// tagsAt are the tags at the first pointer that has some.
func tagsAt(v any, pointers []string) []string {
	for _, p := range pointers {
		got, _ := follow(v, p)
		var tags []string
		list, ok := got.([]any)
		if !ok {
			list = []any{got}
		}
		for _, t := range list {
			if s := textAt(t, ""); s != "" {
				tags = append(tags, s)
			} else if s := textAt(t, "/name"); s != "" {
				tags = append(tags, s)
			}
		}
		if tags != nil {
			return tags
		}
	}
	return nil
}

// items reads the listings of a page.
func (s Shape) items(page any) ([]sitelist.Item, error) {
	v, ok := follow(page, s.List)
	list, isList := v.([]any)
	switch {
	case isList:
	case !ok || v == nil:
		return nil, fmt.Errorf("it has no list at %q", s.List)
	default:
		return nil, fmt.Errorf("what stands at %q is no list", s.List)
	}
	items := make([]sitelist.Item, len(list))
	for i, raw := range list {
		text, err := json.Marshal(raw)
		if err != nil {
			return nil, err
		}
		item := sitelist.Item{Text: string(text), Site: siteOf(raw, s.Site), ID: siteOf(raw, s.ID), Label: siteOf(raw, s.Label), Readme: siteOf(raw, s.Readme), Tags: tagsAt(raw, s.Tags)}
		if s.Origin && !strings.ContainsAny(item.Site, "{<") {
			toOrigin(&item)
		}
		items[i] = item
	}
	return items, nil
}

// follow goes to a JSON Pointer.
func follow(v any, pointer string) (any, bool) {
	if pointer == "" {
		return v, true
	}
	for _, token := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		token = unescape(token)
		switch at := v.(type) {
		case map[string]any:
			var ok bool
			if v, ok = at[token]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			v = at[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func escape(token string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(token) }

func unescape(token string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}

func sorted(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// toOrigin makes the site of an endpoint.
func toOrigin(item *sitelist.Item) {
	u, err := weburl.Parse(item.Site)
	if err != nil || u.Origin()+"/" == item.Site || u.Origin() == item.Site {
		return
	}
	item.Notes = append(item.Notes, "the origin of "+item.Site+" is audited")
	item.Site = u.Origin() + "/"
}
