package discovery

import (
	"html"
	"strings"
	"unicode"

	"agentaudit/audit/jsontree"
)

// clean makes text of a page fit for a profile: tags, control and bidi
// characters become blanks, white space is folded, and what is left is cut to
// a number of code points (specification section 8).
func clean(s string, most int) string {
	var b strings.Builder
	n, blank := 0, false
	for _, r := range withoutTags(jsontree.WellFormed(s)) {
		if isBlank(r) {
			blank = true
			continue
		}
		if blank && n > 0 {
			b.WriteByte(' ')
			if n++; n == most {
				break
			}
		}
		blank = false
		b.WriteRune(r)
		if n++; n == most {
			break
		}
	}
	return b.String()
}

// cleanJSON is clean for strings of JSON, where character references are
// markup still.
func cleanJSON(s string, most int) string { return clean(html.UnescapeString(s), most) }

func isBlank(r rune) bool {
	return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Bidi_Control) || r == '\uFEFF'
}

// withoutTags puts a blank for each tag, comment and declaration; a lone < is
// text.
func withoutTags(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	var b strings.Builder
	for {
		open := strings.IndexByte(s, '<')
		if open < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:open])
		s = s[open:]
		end := 1 + strings.IndexAny(s[1:], "<>")
		if end > 0 && s[end] == '>' && startsTag(s[1:]) {
			b.WriteByte(' ')
			s = s[end+1:]
			continue
		}
		if end == 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:end])
		s = s[end:]
	}
}

// startsTag reports whether what follows a < makes it markup.
func startsTag(s string) bool {
	s = strings.TrimPrefix(s, "/")
	return s != "" && (s[0] == '!' || s[0] == '?' || 'a' <= s[0]|0x20 && s[0]|0x20 <= 'z')
}

// siteName is a title up to its first bar or dash.
func siteName(title string) string {
	for i, r := range title {
		if rest := title[i:]; r == ' ' && (strings.HasPrefix(rest, " | ") || strings.HasPrefix(rest, " — ")) {
			return title[:i]
		}
	}
	return strings.TrimSpace(title)
}

// cutText keeps the first code points of a text.
func cutText(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i]
		}
		n++
	}
	return s
}
