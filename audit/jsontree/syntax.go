package jsontree

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// SyntaxError says why a text is not JSON, and where.
type SyntaxError struct {
	Position
	// Message is a clause without a place and without a final full stop. It
	// never repeats more than one character of the text.
	Message string
	// Depth is set where the text only nests too deeply for us.
	Depth bool
}

// Error gives the place and the message.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// NewSyntaxError explains an error of a decoder of [NewDecoder] over text.
func NewSyntaxError(text string, err error) *SyntaxError {
	offset := len(text)
	if own, ok := errors.AsType[*offsetError](err); ok {
		offset = own.offset
	} else if theirs, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = min(int(theirs.ByteOffset), len(text))
	}
	d := Document{Text: text}
	e := &SyntaxError{Position: d.Position(offset)}
	switch {
	case errors.Is(err, ErrDepth):
		e.Depth = true
		e.Message = fmt.Sprintf("lists and objects nest more than %d levels deep; flatten the document", MaxDepth)
	case strings.Trim(text, " \t\r\n") == "":
		e.Message = "the file is empty; it must hold one JSON value"
	case strings.HasPrefix(text, "\uFEFF"):
		e.Position = Position{1, 1}
		e.Message = "the file starts with a byte order mark; save it as UTF-8 without one"
	case errors.Is(err, io.ErrUnexpectedEOF) || offset >= len(text):
		e.Position = d.Position(len(text))
		e.Message = "the text ends before its last list, object or string is closed"
	case errors.Is(err, errTrailing):
		e.Message = "more text follows the JSON value; a file holds exactly one"
	default:
		e.Message = unexpected(text, offset)
	}
	return e
}

// unexpected explains the character at which the grammar breaks.
func unexpected(text string, offset int) string {
	r, _ := utf8.DecodeRuneInString(text[offset:])
	before := strings.TrimRight(text[:offset], " \t\r\n")
	after := strings.TrimLeft(text[offset+1:], " \t\r\n")
	switch {
	case r == '<' && before == "":
		return "this is markup such as HTML, not JSON"
	case r == '\n' || r == '\r' || r == '\t':
		return `a line break or tab stands inside a string; write it as \n or \t`
	case r < 0x20:
		return fmt.Sprintf("the control character U+%04X is not allowed in JSON", r)
	case r == '\\':
		return `this is no escape of JSON; there are \" \\ \/ \b \f \n \r \t and \u with four hexadecimal digits`
	case r == '\'':
		return "names and strings stand in double quotes in JSON"
	case r == '/' || r == '#':
		return "JSON has no comments; remove them"
	case r == ',' && (strings.HasPrefix(after, "}") || strings.HasPrefix(after, "]")):
		return "a comma stands before the closing bracket; remove it"
	case before != "" && strings.ContainsRune(`"{[-0123456789tfn`, r) && strings.ContainsRune(`"}]0123456789el`, rune(before[len(before)-1])):
		return "a comma or colon is missing before this"
	case unicode.IsSpace(r) || r == 0xFEFF:
		return fmt.Sprintf("the white space character U+%04X is not allowed between values; use plain blanks", r)
	case !unicode.IsPrint(r):
		return fmt.Sprintf("the character U+%04X is not expected here", r)
	case unicode.IsLetter(r):
		return fmt.Sprintf("unexpected %q; only true, false and null stand without quotes", string(r))
	}
	return fmt.Sprintf("unexpected %q", string(r))
}
