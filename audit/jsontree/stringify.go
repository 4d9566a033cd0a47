package jsontree

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Stringify writes a value as JSON.stringify(value, null, indent) does, with
// indent as text ("" for the compact form). The result is UTF-8.
func Stringify(n *Node, indent string) string {
	w := writer{indent: indent}
	w.value(n)
	return string(w.dst)
}

// CompactSize is the length of the compact form in bytes.
func CompactSize(n *Node) int {
	switch n.Kind {
	case String:
		return quotedSize(n.Str)
	case Array:
		size := 2 + max(0, len(n.Items)-1)
		for i := range n.Items {
			size += CompactSize(&n.Items[i])
		}
		return size
	case Object:
		size := 2 + max(0, len(n.Members)-1)
		for i := range n.Members {
			size += quotedSize(n.Members[i].Name) + 1 + CompactSize(&n.Members[i].Value)
		}
		return size
	}
	var scratch [32]byte
	w := writer{dst: scratch[:0]}
	w.value(n)
	return len(w.dst)
}

type writer struct {
	dst    []byte
	indent string
	depth  int
}

func (w *writer) value(n *Node) {
	switch n.Kind {
	case Null:
		w.dst = append(w.dst, "null"...)
	case Bool:
		if n.Bool {
			w.dst = append(w.dst, "true"...)
		} else {
			w.dst = append(w.dst, "false"...)
		}
	case Number:
		w.dst = appendNumber(w.dst, n.Num)
	case String:
		w.dst = appendQuoted(w.dst, n.Str, false)
	case Array:
		w.dst = append(w.dst, '[')
		w.depth++
		for i := range n.Items {
			w.separate(i)
			w.value(&n.Items[i])
		}
		w.depth--
		w.close(len(n.Items), ']')
	case Object:
		w.dst = append(w.dst, '{')
		w.depth++
		for i, m := range inScriptOrder(n.Members) {
			w.separate(i)
			w.dst = append(appendQuoted(w.dst, m.Name, false), ':')
			if w.indent != "" {
				w.dst = append(w.dst, ' ')
			}
			w.value(&m.Value)
		}
		w.depth--
		w.close(len(n.Members), '}')
	}
}

func (w *writer) separate(i int) {
	if i > 0 {
		w.dst = append(w.dst, ',')
	}
	w.newline()
}

func (w *writer) close(n int, bracket byte) {
	if n > 0 {
		w.newline()
	}
	w.dst = append(w.dst, bracket)
}

func (w *writer) newline() {
	if w.indent == "" {
		return
	}
	w.dst = append(w.dst, '\n')
	for range w.depth {
		w.dst = append(w.dst, w.indent...)
	}
}

// appendNumber writes a double as ECMAScript does (Number::toString).
func appendNumber(dst []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 0) || math.IsNaN(f):
		return append(dst, "null"...)
	case f == 0: // also -0
		return append(dst, '0')
	}
	return jsontext.AppendFloat(dst, f, 64)
}

// inScriptOrder gives members in the order in which ECMAScript lists the
// properties of an object: array indices first, ascending.
func inScriptOrder(members []Member) []*Member {
	out := make([]*Member, len(members))
	indices := false
	for i := range members {
		out[i] = &members[i]
		_, ok := arrayIndex(members[i].Name)
		indices = indices || ok
	}
	if indices {
		slices.SortStableFunc(out, func(a, b *Member) int {
			i, iok := arrayIndex(a.Name)
			j, jok := arrayIndex(b.Name)
			switch {
			case iok && jok:
				return int(i - j)
			case iok:
				return -1
			case jok:
				return 1
			}
			return 0
		})
	}
	return out
}

// arrayIndex reads a canonical decimal below 2^32-1 (ECMA-262, "array index").
func arrayIndex(name string) (int64, bool) {
	if name == "" || len(name) > 10 || name[0] == '0' && len(name) > 1 {
		return 0, false
	}
	var n int64
	for i := range len(name) {
		if name[i] < '0' || name[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(name[i]-'0')
	}
	return n, n < math.MaxUint32
}

// Quote writes a string as JSON.stringify does.
func Quote(s string) string { return string(AppendQuote(nil, s)) }

// AppendQuote appends what [Quote] gives.
func AppendQuote(dst []byte, s string) []byte { return appendQuoted(dst, s, false) }

// QuoteVisible is [Quote] with every character that could hide or reorder text
// escaped as well: U+007F-009F, 200B-200F, 2028-202E, 2060-206F and FEFF
// (specification section 5).
func QuoteVisible(s string) string { return string(AppendQuoteVisible(nil, s)) }

// AppendQuoteVisible appends what [QuoteVisible] gives.
func AppendQuoteVisible(dst []byte, s string) []byte { return appendQuoted(dst, s, true) }

func appendQuoted(dst []byte, s string, visible bool) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' && (c != 0x7F || !visible) {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			if at := strings.IndexByte("\b\t\n\f\r\"\\", c); at >= 0 {
				dst = append(dst, '\\', `btnfr"\`[at])
			} else {
				dst = appendEscape(dst, rune(c))
			}
			i++
			start = i
			continue
		}
		r, n := decodeRune(s[i:])
		switch {
		case isSurrogate(r) || visible && hides(r):
			dst = appendEscape(append(dst, s[start:i]...), r)
			start = i + n
		case r == utf8.RuneError && n == 1:
			dst = append(append(dst, s[start:i]...), "\uFFFD"...)
			start = i + n
		}
		i += n
	}
	return append(append(dst, s[start:]...), '"')
}

// quotedSize is the length of what [Quote] gives.
func quotedSize(s string) int {
	size := 2 + len(s)
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c >= utf8.RuneSelf:
			r, n := decodeRune(s[i:])
			if isSurrogate(r) {
				size += len(`\ud800`) - n
			} else if r == utf8.RuneError && n == 1 {
				size += len("\uFFFD") - n
			}
			i += n
			continue
		case c == '"' || c == '\\' || c == '\b' || c == '\t' || c == '\n' || c == '\f' || c == '\r':
			size++
		case c < 0x20:
			size += len(`\u0000`) - 1
		}
		i++
	}
	return size
}

func hides(r rune) bool {
	switch {
	case r < 0x7F || r > 0xFEFF:
		return false
	case r <= 0x9F, r >= 0x200B && r <= 0x200F, r >= 0x2028 && r <= 0x202E, r >= 0x2060 && r <= 0x206F, r == 0xFEFF:
		return true
	}
	return false
}

func appendEscape(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
