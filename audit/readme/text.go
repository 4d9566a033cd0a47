package readme

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
	"golang.org/x/text/encoding/unicode"
)

// maxText bounds the texts of links, in bytes.
const maxText = 500

// decode reads UTF-8 as a browser does: what is none becomes U+FFFD.
func decode(src []byte) []byte {
	if utf8.Valid(src) {
		return src
	}
	good, err := unicode.UTF8.NewDecoder().Bytes(src)
	if err != nil {
		// It replaces and does not fail; still, nothing may be lost.
		return bytes.ToValidUTF8(src, []byte("\ufffd"))
	}
	return good
}

// normalise gives the text as goldmark reads it: valid UTF-8 without a byte
// order mark, every line end a "\n". Of empty lines in a row two are left:
// more say nothing, and each would cost a visit to all open blocks.
func normalise(src []byte) []byte {
	src = bytes.TrimPrefix(decode(src), []byte("\ufeff"))
	if bytes.IndexByte(src, '\r') >= 0 {
		src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
		src = bytes.ReplaceAll(src, []byte("\r"), []byte("\n"))
	}
	if !bytes.Contains(src, []byte("\n\n\n\n")) {
		return src
	}
	out := make([]byte, 0, len(src))
	for i, c := range src {
		if c != '\n' || i < 3 || string(src[i-3:i]) != "\n\n\n" {
			out = append(out, c)
		}
	}
	return out
}

// unescape resolves backslash escapes and character references (CommonMark
// 2.4 and 2.5), each once, from left to right.
func unescape(b []byte) string {
	if bytes.IndexByte(b, '\\') < 0 && bytes.IndexByte(b, '&') < 0 && bytes.IndexByte(b, 0) < 0 {
		return string(b)
	}
	var out strings.Builder
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '\\' && i+1 < len(b) && isPunct(b[i+1]):
			i++
			out.WriteByte(b[i])
		case c == '&':
			s, n := reference(b[i:])
			out.WriteString(s)
			i += n - 1
		case c == 0:
			out.WriteRune(utf8.RuneError)
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

// reference resolves the character reference at the start of b and gives its
// length; what is none stands for itself.
func reference(b []byte) (string, int) {
	const longest = 40 // of the names of HTML, and of numbers
	end := bytes.IndexByte(b[:min(len(b), longest)], ';')
	if end < 2 {
		return "&", 1
	}
	name := string(b[1:end])
	if name[0] != '#' {
		if e, ok := util.LookUpHTML5EntityByName(name); ok {
			return string(e.Characters), end + 1
		}
		return "&", 1
	}
	digits, base, most := name[1:], 10, 7
	if strings.HasPrefix(digits, "x") || strings.HasPrefix(digits, "X") {
		digits, base, most = digits[1:], 16, 6
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || len(digits) > most {
		return "&", 1
	}
	if r := rune(n); n != 0 && utf8.ValidRune(r) {
		return string(r), end + 1
	}
	return string(utf8.RuneError), end + 1
}

// foldSpaces makes one blank of white space, drops the outer, and cuts to
// [maxText] bytes without splitting a character.
func foldSpaces(s string) string {
	if len(s) > 4*maxText {
		s = cut(s, 4*maxText)
	}
	return strings.TrimSpace(cut(strings.Join(strings.Fields(s), " "), maxText))
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

// inlineParser is goldmark as it comes, for the texts of links alone. They
// are cut before it sees them, since its cost is quadratic.
var inlineParser = parser.NewParser(
	parser.WithBlockParsers(util.Prioritized(parser.NewParagraphParser(), 1000)),
	parser.WithInlineParsers(parser.DefaultInlineParsers()...),
)

// plainText is what a reader sees of a link's text.
func plainText(markdown []byte) string {
	if len(markdown) > 2*maxText {
		markdown = []byte(cut(string(markdown), 2*maxText))
	}
	if !bytes.ContainsAny(markdown, "\\`*_<&![]") {
		return foldSpaces(string(markdown))
	}
	var words strings.Builder
	// The walk's only errors are those of its function.
	_ = ast.Walk(inlineParser.Parse(text.NewReader(markdown)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			if value := t.Segment.Value(markdown); t.IsRaw() {
				words.Write(value)
			} else {
				words.WriteString(unescape(value))
			}
			if t.SoftLineBreak() || t.HardLineBreak() {
				words.WriteByte(' ')
			}
		}
		if a, ok := n.(*ast.AutoLink); ok && entering {
			words.Write(a.Label(markdown))
		}
		return ast.WalkContinue, nil
	})
	return foldSpaces(words.String())
}
