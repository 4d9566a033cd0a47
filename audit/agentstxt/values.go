package agentstxt

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// The closed lists of the draft (sections 2.5 to 2.8), spelled exactly so.
var (
	protocols        = []string{"REST", "MCP", "A2A", "GraphQL", "WebSocket"}
	authTypes        = []string{"none", "api-key", "bearer-token", "oauth2", "hmac"}
	windows          = []string{"second", "minute", "hour", "day"}
	declarationTypes = []string{"platform", "agent"}
	locations        = []string{"query", "path", "header", "body"}
	paramTypes       = []string{"string", "integer", "number", "boolean"}
)

// nearest is the member of a closed list that a value means, if it can be
// told: it differs in case only, or a remark stands behind it.
func nearest(list []string, value string) string {
	word, _, _ := strings.Cut(value, " #")
	word = trim(word)
	for _, w := range list {
		if equalFold(w, word) {
			return w
		}
	}
	return ""
}

// parseRateLimit reads "N/window". The form allows no spaces and no other
// case; leading zeros are fine, zero is not (rule 38).
func parseRateLimit(value string, offset int) (RateLimit, bool) {
	digits, window, ok := strings.Cut(value, "/")
	if !ok || !isDigits(digits) || !slices.Contains(windows, window) {
		return RateLimit{}, false
	}
	n := strings.TrimLeft(digits, "0")
	if n == "" {
		return RateLimit{}, false
	}
	return RateLimit{
		Requests: Text{Value: n, offset: offset}, Window: Text{Value: window, offset: offset + len(digits) + 1}, offset: offset,
	}, true
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// overBillion reports whether a canonical decimal number is above 10^9.
func overBillion(n string) bool {
	const billion = "1000000000"
	return len(n) > len(billion) || len(n) == len(billion) && n > billion
}

// wholeNumber is the canonical decimal form of a JSON number that is a whole
// number of 1 or more, like 60, 60.0 or 6e1.
func wholeNumber(raw string) (string, bool) {
	if f, err := strconv.ParseFloat(raw, 64); err != nil || f < 1 || len(raw) > 400 {
		return "", false
	}
	r, ok := new(big.Rat).SetString(raw)
	if !ok || !r.IsInt() {
		return "", false
	}
	return r.Num().String(), true
}

// param is a Param value taken apart (section 2.8).
type param struct {
	Parameter
	// problem says why it cannot be read, "" if it can.
	problem string
	// dash is the wrong dash before the text; bareHyphen: a hyphen without text;
	// oddName: the reference parser drops parameters of this name.
	dash                string
	bareHyphen, oddName bool
	// inside are the items between the parentheses, also of a broken value.
	inside []Text
}

func parseParam(value string, offset int) param {
	var p param
	p.offset = offset
	open := strings.IndexByte(value, '(')
	if open < 0 {
		p.problem = "it has no parentheses"
		return p
	}
	shut := strings.IndexByte(value[open:], ')')
	if shut < 0 {
		p.problem = "its parenthesis is not closed"
		return p
	}
	shut += open
	at := open + 1
	for item := range strings.SplitSeq(value[open+1:shut], ",") {
		t, skip := trimAt(item)
		p.inside = append(p.inside, Text{Value: t, offset: offset + at + skip})
		at += len(item) + 1
		if len(p.inside) > 8 {
			break // more than three are wrong however many
		}
	}
	name, _ := trimAt(value[:open])
	switch {
	case name == "":
		p.problem = "it has no name"
	case strings.ContainsFunc(name, func(r rune) bool { return isSpace(r) || r == ',' || r == ')' }):
		p.problem = "its name has white space or a comma"
	case len(p.inside) < 2:
		p.problem = "location and type stand in the parentheses, with a comma between"
	case len(p.inside) > 3 || len(p.inside) == 3 && p.inside[2].Value != "required":
		p.problem = "only the word required may stand behind the type"
	case !slices.Contains(locations, p.inside[0].Value):
		p.problem = "its location is not one of query, path, header, body"
	case p.inside[1].Value == "":
		p.problem = "it has no type"
	case strings.ContainsFunc(p.inside[1].Value, isSpace):
		p.problem = "its type is more than one word"
	}
	if p.problem != "" {
		return p
	}
	p.Name = Text{Value: name, offset: offset}
	p.In, p.Type, p.Required = p.inside[0], p.inside[1], len(p.inside) == 3
	p.oddName = !isWordName(name)

	rest, skip := trimAt(value[shut+1:])
	at = offset + shut + 1 + skip
	if rest == "" {
		return p
	}
	for _, dash := range []string{"-", "–", "—"} {
		if text, ok := strings.CutPrefix(rest, dash); ok {
			words, skip := trimAt(text)
			p.Description = Text{Value: words, offset: at + len(dash) + skip}
			p.bareHyphen = words == ""
			if dash != "-" {
				p.dash = dash
			}
			return p
		}
	}
	p.problem = "a hyphen must stand between the parentheses and the text"
	return p
}

// isWordName is what the reference parser takes as a Param name.
func isWordName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !isAlnum(c) && c != '_' && c != '.' {
			return false
		}
	}
	return s != ""
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// isMethod reports whether a value is one HTTP method: letters, with single
// hyphens inside (every registered method is of this form).
func isMethod(s string) bool {
	for word := range strings.SplitSeq(s, "-") {
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' }) {
			return false
		}
	}
	return true
}

// isEmail reports whether a value is one plain ASCII address, as the
// reference library wants it (section 2.5, Site-Contact).
func isEmail(s string) bool {
	local, domain, ok := strings.Cut(s, "@")
	if !ok || local == "" || local[0] == '.' || local[len(local)-1] == '.' || strings.Contains(s, "..") {
		return false
	}
	for i := range len(local) {
		if c := local[i]; !isAlnum(c) && !strings.ContainsRune("_'+-.", rune(c)) {
			return false
		}
	}
	labels := strings.Split(domain, ".")
	for _, l := range labels {
		if l == "" || l[0] == '-' {
			return false
		}
		for i := range len(l) {
			if !isAlnum(l[i]) && l[i] != '-' {
				return false
			}
		}
	}
	last := labels[len(labels)-1]
	return len(labels) >= 2 && len(last) >= 2 && strings.Trim(strings.ToLower(last), "abcdefghijklmnopqrstuvwxyz-0123456789") == "" &&
		!isDigits(last)
}

// splitList takes a comma list apart, empty items included.
func splitList(value string, offset int) []Text {
	var out []Text
	at := offset
	for item := range strings.SplitSeq(value, ",") {
		t, skip := trimAt(item)
		out = append(out, Text{Value: t, offset: at + skip, empty: t == ""})
		at += len(item) + 1
	}
	return out
}

// dropEmpty removes the empty items of a list and says how many there were.
func dropEmpty(list []Text) (kept []Text, dropped int) {
	kept = make([]Text, 0, len(list))
	for _, t := range list {
		if t.Value == "" {
			dropped++
			continue
		}
		kept = append(kept, t)
	}
	return kept, dropped
}
