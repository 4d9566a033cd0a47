package agentstxt

import (
	"strings"
	"unicode"
)

// ParseText reads the text form (section 2). It takes any bytes.
func ParseText(body []byte) *Document {
	d := &Document{Form: TextForm, src: newSource(body)}
	p := &textParser{Document: d, agentIndex: map[string]int{}, capability: -1, agent: -1}
	p.characters()
	n := len(d.src.starts)
	if n > maxLines {
		d.add("too-many", Fail, d.src.starts[maxLines], "The file has %d lines. Only the first %d are read.", n, maxLines).
			fix("Publish a shorter file.")
		n = maxLines
	}
	for i := range n {
		p.line(d.src.line(i), d.src.starts[i])
	}
	p.finish()
	return d
}

type textParser struct {
	*Document
	// open is the block that indented lines belong to.
	open       block
	capability int // index of the open or last capability
	agent      int
	agentIndex map[string]int // by name in lower case
	dropped    map[int]bool   // agents that a later block replaced
	seenParams map[string]bool
	seenLists  map[string]bool
	overflow   bool
}

type block int

const (
	noBlock block = iota
	capabilityBlock
	agentBlock
	namelessAgent // Agent: without a name; its lines are ignored
	beyondLimit   // a block past the protective limits
)

// characters looks at the raw text (rule 63).
func (p *textParser) characters() {
	s := p.src
	if s.invalid >= 0 {
		p.add("characters", Warn, s.invalid, "The file is not UTF-8: there are bytes that mean no character, read as U+FFFD.").
			fix("Save the file as UTF-8.")
	}
	if s.loneCR {
		p.add("characters", Warn, 0, "Lines end with a lone carriage return. The reference library reads the whole file as one line.").
			fix("End each line with LF (or CR LF).")
	}
	first, n := -1, 0
	for i, r := range s.text {
		if !unicode.IsControl(r) || r == '\t' || r == '\n' {
			continue
		}
		if r == '\r' && (s.loneCR || i+1 < len(s.text) && s.text[i+1] == '\n') {
			continue
		}
		if first < 0 {
			first = i
		}
		n++
	}
	if n > 0 {
		p.add("characters", Warn, first, "There are %d control characters in the file, the first one here.", n).
			fix("Remove them; only line ends and tabs belong into a text file.")
	}
}

func (p *textParser) line(raw string, offset int) {
	text, skip := trimAt(raw)
	if text == "" {
		return
	}
	at := offset + skip
	if text[0] == '#' {
		p.comment(text, at)
		return
	}
	indented := strings.HasPrefix(raw, "  ") || strings.HasPrefix(raw, "\t")
	key, value, ok := strings.Cut(text, ":")
	if !ok {
		p.freeText = append(p.freeText, span{"", text, at})
		p.add("line", Warn, at, "The line %s has no colon. Readers skip it.", quoted(text)).
			fix("Write it as a field (Key: value) or as a comment: # %s", plain(text))
		p.lose(at, "a line that is no field")
		return
	}
	valueAt := at + len(key) + 1
	key = trim(key)
	value, skip = trimAt(value)
	valueAt += skip
	if key == "" {
		p.freeText = append(p.freeText, span{"", value, valueAt})
		p.add("line", Warn, at, "The line begins with a colon: its field has no name. Readers skip it.").
			fix("Write a field name before the colon, or make it a comment: # %s", plain(value))
		p.lose(at, "a line without a field name")
		return
	}
	f := textField{key, value, at, valueAt}
	switch {
	case indented && p.open != noBlock:
		p.inBlock(f)
		return
	case indented:
		p.add("indentation", Warn, at, "%s is indented, but no block is open. It is read as a top-level field.", plain(key)).
			fix("Write it without indentation: %s: %s", plain(key), plain(value))
	case skip0(raw) > 0:
		p.add("indentation", Warn, at, "%s is indented with one space (or with another kind of blank), which is no indentation: "+
			"any open block ends here, and the line is read as a top-level field.", plain(key)).
			fix("Indent with two spaces if it belongs to the block above, not at all if it does not.")
	}
	p.open = noBlock
	p.top(f)
}

// skip0 is the number of blank bytes before the text of a line.
func skip0(raw string) int { _, n := trimAt(raw); return n }

// comment notes the header that old files have in comments (section 2.5).
func (p *textParser) comment(text string, offset int) {
	p.Comments++
	p.freeText = append(p.freeText, span{"", text, offset})
	key, value, ok := strings.Cut(strings.TrimLeft(text, "# \t"), ":")
	if ok && equalFold(trim(key), "Spec-Version") && p.legacy.IsZero() {
		p.legacy = Text{Value: trim(value), offset: offset}
	}
}

// textField is one field line.
type textField struct {
	key, value  string
	at, valueAt int
}

func (f textField) text() Text { return Text{Value: f.value, offset: f.valueAt, empty: f.value == ""} }

// is reports whether the key is this one, case ignored.
func (f textField) is(name field) bool { return equalFold(f.key, name.text) }

// single sets a field that may stand once; the last one counts (section 2.4).
func (p *textParser) single(f textField, name field, to *Text) {
	p.spelling(f, name.text)
	p.repeated(f, to.given())
	*to = f.text()
	if to.empty && name != fSpecVersion && name != fSiteName && name != fSiteURL && name != fEndpoint && name != fProtocol &&
		name != fDescription && name != fMethod && name != fAuthEndpoint {
		p.emptyValue(f.at, name.text)
	}
}

func (p *textParser) repeated(f textField, again bool) {
	if again {
		p.add("repeated", Warn, f.at, "%s stands here again. Only the last one counts.", plain(f.key)).
			fix("Leave only one: %s: %s", plain(f.key), plain(f.value))
		p.lose(f.at, "an earlier value of a field that is repeated here")
	}
}

func (p *textParser) emptyValue(at int, name string) {
	p.add("empty-value", Info, at, "%s has no value. It counts as absent.", name).fix("Give it a value or remove the line.")
}

// spelling notes a key in other case (rule 59).
func (p *textParser) spelling(f textField, want string) {
	if f.key != want {
		p.add("key-case", Warn, f.at, "%s is spelled %s in the draft. Reference readers do not see it as it stands here.", quoted(f.key), want).
			fix("Write: %s: %s", want, plain(f.value))
	}
}

// list appends to a list; exact duplicates are worth an info (section 2.4).
func (p *textParser) list(f textField, name field, to *[]Text) {
	p.spelling(f, name.text)
	if p.seenLists == nil {
		p.seenLists = map[string]bool{}
	}
	if k := name.text + ":" + f.value; p.seenLists[k] && f.value != "" {
		p.add("repeated", Info, f.at, "%s: %s stands in the file more than once.", name.text, plain(f.value)).fix("Remove this line.")
	} else {
		p.seenLists[k] = true
	}
	*to = append(*to, f.text())
}
