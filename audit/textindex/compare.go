package textindex

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"agentaudit/audit/jsontree"
	"agentaudit/audit/profile"
)

// Kind says in what way a published text differs.
type Kind string

// All kinds but the last two are invisible in most editors; they are named
// only where nothing else differs.
const (
	KindBOM            Kind = "bom"             // a byte order mark at the start
	KindLineEnds       Kind = "crlf"            // CR or CRLF at the end of lines
	KindTrailingBlanks Kind = "trailing-blanks" // blanks or tabs at the end of lines
	KindFinalNewline   Kind = "final-newline"   // no newline, or more than one, at the end
	KindContent        Kind = "content"         // anything else
	KindTooLarge       Kind = "too-large"       // no form of the text exists: both exceed MaxSize
)

// Comparison is what comparing a published text came to.
type Comparison struct {
	// Matched is set where the bytes are those of one of the two forms.
	Matched bool
	// Version is what the published text says of itself, as [PublishedVersion]
	// reads it.
	Version string
	// Difference is nil where the text matches.
	Difference *Difference
}

// Difference says where a published text first differs from the form that it
// comes closer to.
type Difference struct {
	// Against is the version of that form, "" for [KindTooLarge].
	Against string
	// Kinds has one or more of the invisible kinds, or one of the last two.
	Kinds []Kind
	// Line counts from 1; lines end with LF.
	Line int
	// Expected and Found are the two lines, or the part of them around the
	// first difference, quoted, with odd characters visible.
	Expected, Found string
	// ExpectedEnd and FoundEnd are set where the text ends before this line.
	ExpectedEnd, FoundEnd bool
}

// String is one sentence without a final full stop.
func (d *Difference) String() string {
	switch {
	case d.Kinds[0] == KindTooLarge:
		return fmt.Sprintf("no agentic.txt exists for this profile, since it would exceed %d bytes; shorten the profile", MaxSize)
	case d.Kinds[0] == KindContent && d.FoundEnd:
		return fmt.Sprintf("the file ends before line %d, where %s is expected", d.Line, d.Expected)
	case d.Kinds[0] == KindContent && d.ExpectedEnd:
		return fmt.Sprintf("line %d, %s, is one too many: the file should end before it", d.Line, d.Found)
	case d.Kinds[0] == KindContent:
		return fmt.Sprintf("line %d differs: expected %s, found %s", d.Line, d.Expected, d.Found)
	}
	words := map[Kind]string{
		KindBOM:            "a byte order mark at the start",
		KindLineEnds:       "CRLF line ends instead of LF",
		KindTrailingBlanks: "blanks at the end of lines",
		KindFinalNewline:   "the end of the file, which must be exactly one newline",
	}
	var what []string
	for _, k := range d.Kinds {
		what = append(what, words[k])
	}
	sentence := fmt.Sprintf("only this differs: %s; first in line %d", strings.Join(what, " and "), d.Line)
	if slices.Contains(d.Kinds, KindTrailingBlanks) {
		sentence += fmt.Sprintf(", expected %s, found %s", d.Expected, d.Found)
	}
	return sentence
}

// PublishedVersion is the rest of the first line that starts "Agentic-Text: ",
// up to its CR or LF, with invalid bytes as U+FFFD; "" where there is none.
func PublishedVersion(got []byte) string {
	for rest := got; len(rest) > 0; {
		line := rest
		if end := bytes.IndexAny(rest, "\r\n"); end >= 0 {
			line, rest = rest[:end], rest[end+1:]
		} else {
			rest = nil
		}
		if version, ok := bytes.CutPrefix(line, []byte(versionLine)); ok {
			return jsontree.DecodeText(version)
		}
	}
	return ""
}

// Compare judges a published text against the JSON that is published at
// profileURL. The error is a [*URLError]; texts that differ are none.
func Compare(got []byte, p profile.Profile, profileURL string) (Comparison, error) {
	location, err := CheckURL(p, profileURL)
	if err != nil {
		return Comparison{}, err
	}
	c := Comparison{Version: PublishedVersion(got)}
	// A text can only equal the form whose version it names: one form is
	// enough, and the other is the closer one only where that is too large.
	form := closer(got, c.Version, p.Type())
	want := build(make([]byte, 0, len(got)+1024), p, location, form)
	if len(want) > MaxSize {
		form = Publication + Legacy - form
		want = build(want[:0], p, location, form)
	}
	switch {
	case len(want) > MaxSize:
		c.Difference = &Difference{Kinds: []Kind{KindTooLarge}}
	case bytes.Equal(got, want):
		c.Matched = true
	default:
		c.Difference = difference(got, want)
		c.Difference.Against = Version(p.Type(), form)
	}
	return c, nil
}

// closer picks the form that a text is meant to be: by its version, or else by
// whether it has references.
func closer(got []byte, version string, t profile.Type) Form {
	switch version {
	case Version(t, Legacy):
		return Legacy
	case Version(t, Publication):
		return Publication
	}
	if bytes.Contains(got, []byte("\nReference: ")) {
		return Publication
	}
	return Legacy
}

func difference(got, want []byte) *Difference {
	d := &Difference{Kinds: kinds(got, want)}
	for d.Line = 1; ; d.Line++ {
		gotLine, gotRest := cutLine(got)
		wantLine, wantRest := cutLine(want)
		if !bytes.Equal(gotLine, wantLine) {
			d.FoundEnd, d.ExpectedEnd = len(got) == 0, len(want) == 0
			d.Expected, d.Found = excerpts(text(wantLine), text(gotLine))
			return d
		}
		got, want = gotRest, wantRest
	}
}

// cutLine cuts off the first line with its LF.
func cutLine(b []byte) (line, rest []byte) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i+1], b[i+1:]
	}
	return b, nil
}

func text(line []byte) string {
	return jsontree.DecodeText(bytes.TrimSuffix(line, []byte("\n")))
}

// excerpts quotes two lines, without a long part that both start with.
func excerpts(a, b string) (string, string) {
	const most, before = 160, 30
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	if same <= 2*before {
		return profile.Show(a, most), profile.Show(b, most)
	}
	cut := same - before
	for !utf8.RuneStart(a[cut]) {
		cut--
	}
	return profile.Show("…"+a[cut:], most), profile.Show("…"+b[cut:], most)
}

// kinds names the invisible differences if there are no others.
func kinds(got, want []byte) []Kind {
	var found []Kind
	note := func(k Kind, cleaned []byte) {
		if !bytes.Equal(cleaned, got) {
			found = append(found, k)
			got = cleaned
		}
	}
	note(KindBOM, bytes.TrimPrefix(got, []byte("\uFEFF")))
	note(KindLineEnds, bytes.ReplaceAll(bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n")))
	note(KindTrailingBlanks, trimLines(got))
	note(KindFinalNewline, slices.Concat(bytes.TrimRight(got, "\n"), []byte{'\n'}))
	if bytes.Equal(got, want) {
		return found
	}
	return []Kind{KindContent}
}

// trimLines drops blanks and tabs at the end of each line.
func trimLines(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		out = append(out, bytes.TrimRight(bytes.TrimSuffix(line, []byte("\n")), " \t")...)
		if bytes.HasSuffix(line, []byte("\n")) {
			out = append(out, '\n')
		}
	}
	return out
}
