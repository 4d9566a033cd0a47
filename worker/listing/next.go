package listing

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"agentaudit/fetch/weburl"
	"agentaudit/store"
)

// Kind says how an API pages.
type Kind string

// The ways to page. Single is an API with one page.
const (
	Single Kind = ""
	Offset Kind = "offset"
	Cursor Kind = "cursor"
	Number Kind = "page"
	Link   Kind = "link"
)

// step is what an answer says of the page that follows it.
type step struct {
	kind Kind
	// param is the query parameter and value its value; url is the address of
	// the page where the kind is Link.
	param, value string
	url          *weburl.URL
	// total is how many listings the API says that there are, 0 for unknown.
	total int64
}

// envelopes are where pages keep what is not a listing.
var envelopes = []string{"", "/metadata", "/meta", "/pagination", "/paging", "/page", "/pageInfo", "/page_info", "/links", "/_links", "/data"}

// The members that name the next page, as [plainName] writes them, with the
// parameter that takes their value; "" is the member's own name without "next".
var nextMembers = []struct {
	name, param string
	kind        Kind
}{
	{"nextoffset", "offset", Offset},
	{"nextcursor", "cursor", Cursor},
	{"nextpagetoken", "pageToken", Cursor},
	{"endcursor", "after", Cursor},
	{"nextpage", "page", Number},
	{"next", "", Link},
}

// nextOf finds out what follows a page that was read at an address. count is
// how many listings it has. The error says that the API leads elsewhere.
func nextOf(page any, header []string, at *weburl.URL, count int) (step, error) {
	var s step
	for _, e := range envelopes {
		v, _ := follow(page, e)
		members, _ := v.(map[string]any)
		for _, name := range sorted(members) {
			if slices.Contains([]string{"total", "totalcount", "totalitems", "totalresults"}, plainName(name)) && s.total == 0 {
				if n, ok := members[name].(json.Number); ok {
					s.total, _ = n.Int64()
				}
			}
		}
	}
	if to := linkNext(header); to != "" {
		return s.toLink(to, at)
	}
	ended := false // a name for the next page is there, and empty; another may hold it
	for _, e := range envelopes {
		v, _ := follow(page, e)
		members, _ := v.(map[string]any)
		for _, m := range nextMembers {
			for _, name := range sorted(members) {
				if plainName(name) != m.name || m.name == "endcursor" && members["hasNextPage"] != true {
					continue
				}
				value := textAt(members[name], "")
				if href := textAt(members[name], "/href"); m.kind == Link && href != "" {
					value = href
				}
				switch {
				case value == "" || value == "0" && m.kind != Cursor:
					ended = true // null, ""
					continue
				case m.kind == Link && isNumber(value):
					s.kind, s.param, s.value = Number, "page", value
				case m.kind == Link && !strings.ContainsAny(value, "/?"):
					s.kind, s.param, s.value = Cursor, "cursor", value
				case m.kind == Link:
					return s.toLink(value, at)
				default:
					s.kind, s.param, s.value = m.kind, m.param, value
					if name == "next_page_token" {
						s.param = "page_token"
					}
				}
				if (s.kind == Offset || s.kind == Number) && !isNumber(s.value) {
					return s, fmt.Errorf("its %s, %.60q, is no number", name, s.value)
				}
				return s, nil
			}
		}
	}
	if !ended && hasMore(page) && count > 0 {
		s.kind, s.param, s.value = Offset, "offset", strconv.FormatInt(offsetOf(at)+int64(count), 10)
	}
	return s, nil
}

func isNumber(s string) bool {
	return s != "" && len(s) < 19 && strings.Trim(s, "0123456789") == ""
}

// hasMore reports whether a page says that others follow, without saying which.
func hasMore(page any) bool {
	for _, e := range envelopes {
		v, _ := follow(page, e)
		members, _ := v.(map[string]any)
		for name, value := range members {
			if n := plainName(name); (n == "hasmore" || n == "more" || n == "hasnext") && value == true {
				return true
			}
		}
	}
	return false
}

// toLink checks the address of the next page: nobody is led to another site.
func (s step) toLink(to string, at *weburl.URL) (step, error) {
	u, err := at.Resolve(to)
	if err != nil {
		return s, fmt.Errorf("its next page, %.200q, is no address", store.PlainSource(to))
	}
	if u.Origin() != at.Origin() {
		return s, fmt.Errorf("its next page, %.200q, is on another site, which is not followed", store.PlainSource(to))
	}
	s.kind, s.url = Link, u
	return s, nil
}

// linkNext is the target of rel=next in Link headers (RFC 8288), "" for none.
func linkNext(header []string) string {
	for _, h := range header {
		for {
			_, rest, ok := strings.Cut(h, "<")
			target, rest, closed := strings.Cut(rest, ">")
			if !ok || !closed {
				break
			}
			var params []string
			if params, h = linkParams(rest); slices.ContainsFunc(params, isNext) {
				return target
			}
		}
	}
	return ""
}

// linkParams splits off the parameters of a link. Commas and semicolons in
// quoted strings separate nothing; a quote without an end takes all the rest.
func linkParams(s string) (params []string, rest string) {
	start, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ';' || c == ',':
			params = append(params, s[start:i])
			start = i + 1
			if c == ',' {
				return params, s[start:]
			}
		}
	}
	return append(params, s[start:]), ""
}

// isNext reports whether a parameter of a link is a rel that holds next.
func isNext(param string) bool {
	name, value, _ := strings.Cut(param, "=")
	return strings.EqualFold(strings.TrimSpace(name), "rel") && slices.Contains(strings.Fields(strings.ToLower(strings.Trim(value, `" `))), "next")
}

// withParam is an address with a query parameter set.
func withParam(at *weburl.URL, param, value string) (*weburl.URL, error) {
	u, err := url.Parse(at.String())
	if err != nil {
		return nil, err
	}
	q := u.Query()
	q.Set(param, value)
	u.RawQuery = q.Encode()
	return weburl.Parse(u.String())
}

// offsetOf is the offset in an address, 0 without one.
func offsetOf(at *weburl.URL) int64 {
	u, err := url.Parse(at.String())
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(u.Query().Get("offset"), 10, 64)
	return n
}
