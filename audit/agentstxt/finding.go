package agentstxt

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPerCheck is how many findings of one id and severity a report shows for
// one file; the last of them says how many more there are.
const maxPerCheck = 20

// quoted is text from a file inside a detail or remedy. It is masked and cut
// when the report is made, after all credentials are known.
type quoted string

// plain is like quoted but without quotation marks: a line to write.
type plain string

// finding is a check before it is rendered.
type finding struct {
	id       string
	severity Severity
	// offset is where it stands, -1 for the file as a whole.
	offset         int
	format, remedy string
	args, fixArgs  []any
	more           int
}

// findings collects what is found in one file.
type findings struct {
	list  []*finding
	count map[findingKey]*finding
	n     map[findingKey]int
}

type findingKey struct {
	id       string
	severity Severity
}

// add notes a finding. Beyond [maxPerCheck] of one kind it only counts, and
// returns a finding that nobody sees.
func (f *findings) add(id string, severity Severity, offset int, format string, args ...any) *finding {
	if f.n == nil {
		f.n, f.count = map[findingKey]int{}, map[findingKey]*finding{}
	}
	x := &finding{id: "agents:" + id, severity: severity, offset: offset, format: format, args: args}
	key := findingKey{id, severity}
	f.n[key]++
	if f.n[key] > maxPerCheck {
		f.count[key].more++
		return x
	}
	f.count[key] = x
	f.list = append(f.list, x)
	return x
}

// full reports whether further findings of a kind are only counted.
func (f *findings) full(id string, severity Severity) bool {
	return f.n[findingKey{id, severity}] >= maxPerCheck
}

// fix says what to do; it shows the corrected line where there is one.
func (x *finding) fix(format string, args ...any) { x.remedy, x.fixArgs = format, args }

// check renders a finding for a file. src may be nil.
func (x *finding) check(file string, src *source, m *masker) Check {
	c := Check{ID: x.id, Severity: x.severity, File: file, Detail: render(m, x.format, x.args), Remedy: render(m, x.remedy, x.fixArgs)}
	if n := ruleNumbers[x.id]; n != 0 {
		c.Rule = &n
	}
	if x.more > 0 {
		c.Detail += fmt.Sprintf(" (and %d more like this)", x.more)
	}
	if src != nil && x.offset >= 0 {
		c.Line, c.Column = src.position(x.offset)
	}
	return c
}

func render(m *masker, format string, args []any) string {
	if len(args) == 0 {
		return format
	}
	out := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case quoted:
			out[i] = `"` + show(m, string(a)) + `"`
		case plain:
			out[i] = show(m, string(a))
		default:
			out[i] = a
		}
	}
	return fmt.Sprintf(format, out...)
}

// maxShown is how many characters of a value a detail or remedy shows.
const maxShown = 80

// show makes a value of a stranger's file fit for a report: masked, cut,
// without control or invisible formatting characters.
func show(m *masker, s string) string {
	// A secret that begins in what is shown is known by its first bytes.
	window := s
	if len(window) > 4*maxShown+maskPrefix {
		window = window[:4*maxShown+maskPrefix]
	}
	window = strings.ToValidUTF8(m.mask(window), "")
	var b strings.Builder
	n := 0
	for _, r := range window {
		if n == maxShown {
			break
		}
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			r = ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029':
			r = '\ufffd'
		}
		b.WriteRune(r)
		n++
	}
	if n == maxShown && utf8.RuneCountInString(s) > maxShown {
		b.WriteString("…")
	}
	return b.String()
}
