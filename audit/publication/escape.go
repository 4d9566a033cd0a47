package publication

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"agentaudit/audit/jsontree"
	"agentaudit/fetch/weburl"
)

// Plain makes one line of readable text of untrusted text, "" where nothing
// of it can be seen: for where [Markdown] would be too much.
func Plain(s string) string { return plain(s) }

// Markdown makes Markdown of untrusted text that shows the plain text and is
// nothing else, wherever on a line it stands: no markup, link, HTML or control
// sequence survives in any of the usual renderers.
func Markdown(s string) string { return markdown(s) }

// plain makes one line of readable text of untrusted text: controls become
// blanks, invisible format characters vanish (but for the joiners that emoji
// and several scripts are written with), white space is folded.
func plain(s string) string {
	var b strings.Builder
	blank, visible := false, false
	for _, r := range jsontree.WellFormed(s) {
		switch {
		case unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp):
			blank = true
			continue
		case r != '\u200C' && r != '\u200D' && unicode.In(r, unicode.Cf, unicode.Cs, unicode.Co) || r == '\uFEFF':
			continue
		}
		if blank && b.Len() > 0 {
			b.WriteByte(' ')
		}
		blank = false
		visible = visible || unicode.IsGraphic(r)
		b.WriteRune(r)
	}
	if !visible {
		return ""
	}
	return b.String()
}

// cut shortens a text to a number of code points.
func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n++; n == most {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}

// markdown makes Markdown of untrusted text that shows the plain text and is
// nothing else, wherever on a line it stands.
//
// Backslashes alone would do for CommonMark. Renderers that make links of bare
// URLs and addresses, however, look for them in the finished text, so these
// are broken up for good.
func markdown(s string) string {
	s = plain(s)
	var b strings.Builder
	for i, r := range s {
		switch r {
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case ':':
			b.WriteString(`\:`)
			if strings.HasPrefix(s[i+1:], "//") {
				b.WriteByte(' ')
			}
		case '@':
			if isMailbox(s, i) {
				b.WriteString(" (at) ")
			} else {
				b.WriteString(`\@`)
			}
		case '.':
			switch {
			case isNumber(s[:i]): // would begin a list
				b.WriteString(`\.`)
			case isWWW(s[:i]) && i+1 < len(s) && s[i+1] != ' ':
				b.WriteString(`\. `)
			default:
				b.WriteByte('.')
			}
		case '-', '+', '=':
			if i == 0 { // would begin a list or underline a heading
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		case ')':
			if isNumber(s[:i]) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		case '\\', '`', '*', '_', '{', '}', '[', ']', '#', '|', '~', '^', '$':
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isMailbox reports whether the @ at i could be that of a mail address.
func isMailbox(s string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i+1:])
	return i > 0 && i+1 < len(s) && before != ' ' && after != ' '
}

// isWWW reports whether a text ends in www as the start of a word.
func isWWW(s string) bool {
	if len(s) < 3 || !strings.EqualFold(s[len(s)-3:], "www") {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(s[:len(s)-3])
	return len(s) == 3 || !unicode.IsLetter(before) && !unicode.IsDigit(before)
}

func isNumber(s string) bool {
	return s != "" && len(s) <= 9 && strings.Trim(s, "0123456789") == ""
}

// destination writes a URL as the destination of a Markdown link. Round
// brackets are encoded, as the convention's tools expect (specification
// section 9); an ampersand could begin a character reference.
func destination(url string) string {
	return strings.NewReplacer("(", "%28", ")", "%29", "&", "&amp;", `\`, "%5C", "<", "%3C", ">", "%3E", " ", "%20").Replace(url)
}

// link is a Markdown link with an untrusted text; where that is blank, the
// URL's host and path stand for it.
func link(text string, u *weburl.URL) string {
	label := markdown(text)
	switch label {
	case "":
		label = markdown(cut(u.Hostname()+u.Path(), 120))
	case "x", "X":
		// In a list, [x] is a box that is checked: goldmark sees it before links.
		label = fmt.Sprintf("&#%d;", label[0])
	}
	return "[" + label + "](" + destination(u.String()) + ")"
}
