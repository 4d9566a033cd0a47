package readme

import (
	"bytes"
	"slices"

	"github.com/yuin/goldmark/util"
)

// event is a link or a piece of raw HTML in the text of one block.
type event struct {
	// from and to are where it stands in the text.
	from, to int
	// link tells the two apart; dest and title are then as written, and label
	// is the text between the brackets.
	link               bool
	auto               bool
	dest, title, label []byte
}

// bracket is an opening bracket that waits for its counterpart.
type bracket struct {
	// from is where it begins, at is the place behind it.
	from, at int32
	// events is how many there were when it opened.
	events int32
	image  bool
	// nested says that another bracket opened behind it: what it encloses can
	// be no label.
	nested bool
}

// scanner finds the links in the text of one block by the rules of CommonMark
// 6. Emphasis is left out: it binds less tightly than links do, so that it
// decides nothing about them. Every step is linear in the length of the text,
// which is why the scanner remembers what is not to be found behind a place.
type scanner struct {
	definitions map[string]definition
	b           []byte
	events      []event
	brackets    []bracket
	// links are forbidden in brackets below this index: a link stands inside.
	inactive int
	unsorted bool
	// lastRun has for each length of a run of backticks where the last one
	// begins; parens is the answer of closingParens. Both are made when needed.
	lastRun map[int]int
	parens  []int32
	// missing has the ends of raw HTML that do not occur behind the place.
	missing map[string]bool
}

var special = func() (t [256]bool) {
	for _, c := range []byte("\\`<![]") {
		t[c] = true
	}
	return t
}()

// scanInline returns the links and the raw HTML of one block in their order.
func scanInline(b []byte, definitions map[string]definition) []event {
	s := &scanner{definitions: definitions, b: b}
	for i := 0; i < len(b); {
		c := b[i]
		if !special[c] {
			i++
			continue
		}
		switch c {
		case '\\':
			i++
			if i < len(b) && isPunct(b[i]) {
				i++
			}
		case '`':
			i = s.codeSpan(i)
		case '<':
			i = s.angle(i)
		case '!':
			if i+1 < len(b) && b[i+1] == '[' {
				s.open(i, i+2, true)
				i++
			}
			i++
		case '[':
			s.open(i, i+1, false)
			i++
		case ']':
			i = s.close(i)
		}
	}
	if s.unsorted {
		slices.SortStableFunc(s.events, func(a, b event) int { return a.from - b.from })
	}
	return s.events
}

// codeSpan gives the place behind a code span that begins at i, or behind the
// backticks if they are none.
func (s *scanner) codeSpan(i int) int {
	n := backticks(s.b, i)
	if s.lastRun == nil {
		s.lastRun = map[int]int{}
		for j := i; j < len(s.b); {
			k := bytes.IndexByte(s.b[j:], '`')
			if k < 0 {
				break
			}
			j += k
			run := backticks(s.b, j)
			s.lastRun[run] = j
			j += run
		}
	}
	if s.lastRun[n] <= i {
		return i + n
	}
	// There is one, and what lies before it is code: this is paid for once.
	for j := i + n; ; {
		j += bytes.IndexByte(s.b[j:], '`')
		run := backticks(s.b, j)
		j += run
		if run == n {
			return j
		}
	}
}

func backticks(b []byte, i int) int {
	n := 0
	for i+n < len(b) && b[i+n] == '`' {
		n++
	}
	return n
}

// angle gives the place behind an autolink or raw HTML that begins at i, or
// behind the angle bracket.
func (s *scanner) angle(i int) int {
	uri, end := scanAutolink(s.b, i)
	switch {
	case uri != nil:
		s.events = append(s.events, event{from: i, to: end, link: true, auto: true, dest: uri, label: uri})
		return end
	case end > 0:
		return end
	}
	if end = s.rawHTML(i); end == 0 {
		return i + 1
	}
	s.events = append(s.events, event{from: i, to: end})
	return end
}

// rawHTML reads raw HTML (CommonMark 6.6) that begins at i.
func (s *scanner) rawHTML(i int) int {
	rest := s.b[i:]
	switch {
	case len(rest) < 2:
		return 0
	case rest[1] == '?':
		return s.until(i, 2, "?>")
	case rest[1] != '!':
		return scanTag(s.b, i)
	case bytes.HasPrefix(rest, []byte("<!-->")):
		return i + 5
	case bytes.HasPrefix(rest, []byte("<!--->")):
		return i + 6
	case bytes.HasPrefix(rest, []byte("<!--")):
		return s.until(i, 4, "-->")
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		return s.until(i, 9, "]]>")
	case len(rest) > 2 && isLetter(rest[2]):
		return s.until(i, 3, ">")
	}
	return 0
}

func (s *scanner) until(i, skip int, end string) int {
	if s.missing[end] {
		return 0
	}
	if n := bytes.Index(s.b[i+skip:], []byte(end)); n >= 0 {
		return i + skip + n + len(end)
	}
	if s.missing == nil {
		s.missing = map[string]bool{}
	}
	s.missing[end] = true
	return 0
}

func (s *scanner) open(from, at int, image bool) {
	if n := len(s.brackets); n > 0 {
		s.brackets[n-1].nested = true
	}
	s.brackets = append(s.brackets, bracket{from: int32(from), at: int32(at), image: image, events: int32(len(s.events))})
}

// close handles the closing bracket at i and gives the place to go on at.
func (s *scanner) close(i int) int {
	n := len(s.brackets) - 1
	if n < 0 {
		return i + 1
	}
	open := s.brackets[n]
	s.brackets = s.brackets[:n]
	inactive := n < s.inactive && !open.image
	s.inactive = min(s.inactive, n)
	if inactive {
		return i + 1
	}
	dest, title, end := s.target(open, i)
	if end == 0 {
		return i + 1
	}
	if open.image {
		// What stands in an image's text is shown as text, links included.
		// They were links all the same where links in links are forbidden.
		s.events = s.events[:open.events]
		return end
	}
	s.unsorted = s.unsorted || len(s.events) > int(open.events)
	s.events = append(s.events, event{from: int(open.from), to: end, link: true, dest: dest, title: title, label: s.b[open.at:i]})
	s.inactive = n
	return end
}

// target reads what makes a link of brackets that close at i: "(…)" or a
// defined label. end is 0 if there is neither.
func (s *scanner) target(open bracket, i int) (dest, title []byte, end int) {
	after := i + 1
	if after < len(s.b) && s.b[after] == '(' {
		if dest, title, end, ok := s.inlineTarget(after); ok {
			return dest, title, end
		}
	}
	if len(s.definitions) == 0 {
		return nil, nil, 0
	}
	label := s.b[open.at:i]
	end = after
	// A label must lie there as a whole; brackets within make it none.
	usable := !open.nested
	if after < len(s.b) && s.b[after] == '[' {
		if e, ok := scanLabel(s.b, after); ok {
			label, end, usable = s.b[after+1:e-1], e, true
		} else if after+1 < len(s.b) && s.b[after+1] == ']' {
			end = after + 2
		}
	}
	// Escapes aside a code point has at most four bytes.
	if !usable || len(label) > 4*maxLabel || len([]rune(string(label))) > maxLabel {
		return nil, nil, 0
	}
	if d, ok := s.definitions[util.ToLinkReference(label)]; ok {
		return d.dest, d.title, end
	}
	return nil, nil, 0
}

// inlineTarget reads "(destination title)" with the round bracket at i.
func (s *scanner) inlineTarget(i int) (dest, title []byte, end int, ok bool) {
	b := s.b
	j := skipSpaces(b, i+1)
	if j < len(b) && b[j] == ')' {
		return nil, nil, j + 1, true
	}
	if j == i+1 && j < len(b) && b[j] != '<' {
		dest, j, ok = s.bareTarget(i)
	} else {
		dest, j, ok = scanDestination(b, j)
	}
	if !ok {
		return nil, nil, 0, false
	}
	k := skipSpaces(b, j)
	if k < len(b) && b[k] == ')' {
		return dest, nil, k + 1, true
	}
	if k == j {
		return nil, nil, 0, false
	}
	title, k, ok = scanTitle(b, k)
	if !ok {
		return nil, nil, 0, false
	}
	k = skipSpaces(b, k)
	if k < len(b) && b[k] == ')' {
		return dest, title, k + 1, true
	}
	return nil, nil, 0, false
}

// bareTarget is scanDestination directly behind the round bracket at i. Many
// such brackets may stand before one and the same run of text, so that their
// counterparts are looked for but once.
func (s *scanner) bareTarget(i int) (dest []byte, end int, ok bool) {
	const short = 512
	if len(s.b) <= short {
		return scanDestination(s.b, i+1)
	}
	if s.parens == nil {
		s.parens = closingParens(s.b)
	}
	end = int(s.parens[i])
	if end <= i+1 {
		return nil, 0, false
	}
	return s.b[i+1 : end], end, true
}

// closingParens gives for each '(' the end of a bare destination behind it:
// its counterpart, or the end of the run of text if all brackets behind it
// are balanced there. It is 0 where there is no destination.
func closingParens(b []byte) []int32 {
	ends := make([]int32, len(b))
	var stack []int
	for i := 0; i <= len(b); i++ {
		switch {
		case i == len(b) || b[i] <= ' ' || b[i] == 0x7F:
			if n := len(stack); n > 0 {
				ends[stack[n-1]] = int32(i)
				stack = stack[:0]
			}
		case b[i] == '\\' && i+1 < len(b) && isPunct(b[i+1]):
			i++
		case b[i] == '(':
			stack = append(stack, i)
		case b[i] == ')' && len(stack) > 0:
			ends[stack[len(stack)-1]] = int32(i)
			stack = stack[:len(stack)-1]
		}
	}
	return ends
}
