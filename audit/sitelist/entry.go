package sitelist

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"agentaudit/fetch/weburl"
)

// entry is what a list says of one site, as it stands there.
type entry struct {
	// text is shown instead of site where it is more than that.
	text, site        string
	id, label, readme string
	tags              []string
	notes             []string
}

// makeLine judges an entry: what it names must be a target, and its README
// URL, if it has one, a URL that could be read (specification section 1).
func makeLine(number int64, e entry) Line {
	l := Line{Number: number, ID: e.id, Label: e.label, Tags: e.tags, Notes: e.notes}
	l.Text = strings.TrimSpace(e.text)
	if l.Text == "" {
		l.Text = strings.TrimSpace(e.site)
	}
	site, hidden := trimInvisible(e.site)
	if hidden {
		l.Notes = append(l.Notes, "invisible characters around the URL were removed")
	}
	var err error
	if l.Target, err = readURL(site, weburl.ParseTarget); err != nil {
		l.Reject = "the site is not usable: " + err.Error()
	} else if e.readme != "" {
		readme, hidden := trimInvisible(e.readme)
		if hidden {
			l.Notes = append(l.Notes, "invisible characters around the README URL were removed")
		}
		if bareReadme.MatchString(readme) {
			err = errors.New("it is a file name without a host; give the whole URL")
		} else {
			l.ReadmeURL, err = readURL(readme, weburl.ParseStart)
		}
		if err != nil {
			l.Target, l.ReadmeURL = nil, nil
			l.Reject = fmt.Sprintf("the README URL %q is not usable: %v", withoutPassword(cut(readme, 200)), err)
		}
	}
	l.tidy()
	return l
}

// bareReadme would otherwise be read as a host: .md is a top level domain.
var bareReadme = regexp.MustCompile(`(?i)^readme(\.[a-z]+)?$`)

// rejectLine is a line in which no site could be found.
func rejectLine(number int64, text, format string, args ...any) Line {
	l := Line{Number: number, Text: strings.TrimSpace(text), Reject: fmt.Sprintf(format, args...)}
	l.tidy()
	return l
}

// readURL refuses what is certainly not meant before the rules are applied.
func readURL(s string, parse func(string) (*weburl.URL, error)) (*weburl.URL, error) {
	if strings.Contains(s, "\uFFFD") || !utf8.ValidString(s) {
		return nil, errors.New("it has bytes that are not UTF-8; save the list as UTF-8")
	}
	if strings.ContainsAny(s, "{<%") {
		if t := template.FindString(s); t != "" {
			return nil, fmt.Errorf("it has an unfilled template, %s", cut(t, 80))
		}
	}
	u, err := parse(s)
	var rule *weburl.RuleError
	if errors.As(err, &rule) {
		// The text stands beside the reason; it need not be said twice.
		return nil, errors.New(rule.Message)
	}
	if err != nil {
		return nil, err
	}
	if err := checkMeant(u); err != nil {
		return nil, err
	}
	return u, nil
}

// checkMeant refuses URLs that the standard allows and no list means.
func checkMeant(u *weburl.URL) error {
	if _, ok := u.IP(); !ok {
		// Names on the web have letters, digits and hyphens (RFC 1123, section
		// 2.1; underscores are met, too). The standard takes all kinds of other
		// characters, so that a record of CSV or a quoted URL would become a
		// host that is reported as missing.
		if i := strings.IndexFunc(u.Hostname(), func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
		}); i >= 0 {
			return fmt.Errorf("its host would have the character %q, which no host name on the web has", u.Hostname()[i])
		}
		// A word, or a scheme that the standard does not know for one. localhost is
		// a name (RFC 6761, section 6.3), and its audit says what is wrong with it.
		if !strings.Contains(u.Hostname(), ".") && u.Hostname() != "localhost" {
			return fmt.Errorf("its host would be %q, which has no dot", cut(u.Hostname(), 80))
		}
	}
	if password.MatchString(u.Path()) {
		return errors.New("a user name and a password stand within the URL; remove them")
	}
	return nil
}

// template is a placeholder that somebody forgot to fill: {x}, ${x}, {{x}},
// <x>, also percent-encoded.
var template = regexp.MustCompile(`(?i)\{[^{}]*\}|%7B.*?%7D|<[^<>]*>|%3C.*?%3E`)

// trimInvisible removes white space and invisible characters from both ends;
// hidden says that there were others than white space.
func trimInvisible(s string) (trimmed string, hidden bool) {
	// Most texts have nothing to remove.
	if s != "" && plain(s[0]) && plain(s[len(s)-1]) {
		return s, false
	}
	trimmed = strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == 0xFEFF || invisible(r) })
	before, after, _ := strings.Cut(s, trimmed)
	return trimmed, strings.ContainsFunc(before+after, invisible)
}

func plain(c byte) bool { return ' ' < c && c < 0x7F }

// invisible tells the characters that leave no trace on paper: soft hyphen,
// zero width and direction marks, fillers, the blank braille pattern,
// variation selectors.
func invisible(r rune) bool {
	switch {
	case r < 0xAD:
		return false
	case r == 0xAD, r == 0x034F, r == 0x061C, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5,
		r >= 0x180B && r <= 0x180F, r >= 0x200B && r <= 0x200F, r >= 0x202A && r <= 0x202E,
		r >= 0x2060 && r <= 0x206F, r == 0x2800, r == 0x3164, r >= 0xFE00 && r <= 0xFE0F, r == 0xFEFF,
		r == 0xFFA0, r >= 0xFFF0 && r <= 0xFFFB, r >= 0xE0000 && r <= 0xE0FFF:
		return true
	}
	return false
}

// tidy bounds the texts of a line, keeps passwords out of it, and says what
// was left out.
func (l *Line) tidy() {
	if safe := withoutPassword(l.Text); safe != l.Text {
		l.Text = safe
		l.Notes = append(l.Notes, "the password in the URL was not kept")
	}
	l.Reject = withoutPassword(l.Reject) // it may quote the text
	l.bound("text", &l.Text)
	l.bound("id", &l.ID)
	l.bound("label", &l.Label)
	size := 0
	for i := range l.Tags {
		l.bound("tag", &l.Tags[i])
		if size += len(l.Tags[i]); size > MaxText {
			l.Notes = append(l.Notes, fmt.Sprintf("only the first %d tags were kept", i))
			l.Tags = l.Tags[:i]
			break
		}
	}
}

func (l *Line) bound(what string, s *string) {
	if !utf8.ValidString(*s) {
		*s = strings.ToValidUTF8(*s, "\uFFFD")
		l.Notes = append(l.Notes, "bytes of the "+what+" that are not UTF-8 were replaced")
	}
	if len(*s) > MaxText {
		*s = cut(*s, MaxText)
		l.Notes = append(l.Notes, fmt.Sprintf("the %s was cut to %d bytes", what, len(*s)))
	}
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// withoutPassword replaces the password of a URL that carries one.
func withoutPassword(s string) string {
	if strings.IndexByte(s, '@') < 0 || len(s) > len("mailto:") && strings.EqualFold(s[:len("mailto:")], "mailto:") {
		return s
	}
	return password.ReplaceAllString(s, "$1:***@")
}

// password is a user with a password before a host, wherever it stands: behind
// quotation marks, a broken scheme or none.
var password = regexp.MustCompile(`([^\s:/\\?#@]*):[^\s/\\?#]*@`)

// splitTags reads tags in one text: divided by commas, semicolons or bars.
func splitTags(s string) []string {
	var tags []string
	for _, t := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' || r == '|' }) {
		if t = strings.TrimSpace(t); t != "" {
			tags = append(tags, t)
		}
	}
	return tags
}

// Item is what a list in a form that [Read] does not know says of one site.
type Item struct {
	// Text is shown where there is no site, Site what the list says where it
	// should stand.
	Text, Site string
	// ID, Label, Readme and Tags are as in [Line]; all may be empty.
	ID, Label, Readme string
	Tags              []string
	// Notes say what was done to the item before.
	Notes []string
}

// Line judges an item as the lines of all lists are judged.
func (i Item) Line(number int64) Line {
	if strings.TrimSpace(i.Site) == "" {
		l := rejectLine(number, i.Text, "the listing names no site")
		l.ID, l.Label, l.Tags, l.Notes = i.ID, i.Label, i.Tags, i.Notes
		l.tidy()
		return l
	}
	return makeLine(number, entry{site: i.Site, id: i.ID, label: i.Label, readme: i.Readme, tags: i.Tags, notes: i.Notes})
}
