package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"agentaudit/audit/jsontree"
)

// MaxProblems is how many problems of one document are listed; a hostile file
// could have tens of thousands.
const MaxProblems = 100

// maxPointers bounds the JSON Pointers of one list in bytes, for the same
// reason: with many duplicates deep down they grow with the square of the file.
const maxPointers = 65_536

// Code names a broken rule; tests and callers rely on it, not on the prose.
type Code string

// The rules of a schema.
const (
	CodeType     Code = "type"
	CodeConst    Code = "const"
	CodeEnum     Code = "enum"
	CodeRequired Code = "required"
	CodeUnknown  Code = "unknown-member"
	CodeLength   Code = "length"
	CodePattern  Code = "pattern"
	CodeRange    Code = "range"
	CodeCount    Code = "count"
	CodeUnique   Code = "unique"
	CodeSchema   Code = "schema" // any other keyword
)

// The other rules, in the order in which a site profile is judged; the last
// three are those of action profiles.
const (
	CodeDuplicate       Code = "duplicate-member"
	CodeOrigin          Code = "origin"
	CodeRetrieved       Code = "retrieved"
	CodeLink            Code = "link"
	CodeUniqueResource  Code = "unique-resource"
	CodeDocument        Code = "document"
	CodeOperationPath   Code = "operation-path"
	CodeUniqueOperation Code = "unique-operation"
	CodeSize            Code = "size"
	CodeUniqueID        Code = "unique-id"
	CodeOpenAPIPath     Code = "openapi-path"
	CodeDistinct        Code = "distinct-operations"
)

// Problem is one broken rule at one place.
type Problem struct {
	Code Code
	// Pointer is the JSON Pointer of the value that breaks the rule, "" for
	// the document; of a missing member it is that of the object.
	Pointer string
	// Line and Column are the place of the value (of a duplicate or unknown
	// member, of its name) in the file; both count from 1.
	Line, Column int
	// Message is a clause without a final full stop. It repeats at most a few
	// characters of the file.
	Message string
}

// String is the place and the message.
func (p Problem) String() string {
	where := "the document"
	if p.Pointer != "" {
		where = ShowPointer(p.Pointer)
	}
	return fmt.Sprintf("%s (line %d, column %d): %s", where, p.Line, p.Column, p.Message)
}

// ShowPointer prepares a JSON Pointer for a sentence: long ones are cut, odd
// characters made visible.
func ShowPointer(pointer string) string {
	odd := strings.ContainsFunc(pointer, func(r rune) bool { return r <= ' ' || r >= 0x7F })
	if len(pointer) <= 200 && !odd {
		return pointer
	}
	return Show(pointer, 200)
}

// Show quotes a text of the file for a sentence, with odd characters made
// visible, cut to a number of code points.
func Show(s string, most int) string {
	s = jsontree.WellFormed(s)
	if utf8.RuneCountInString(s) > most {
		n := 0
		for i := range s {
			if n == most {
				s = s[:i] + "…"
				break
			}
			n++
		}
	}
	return jsontree.QuoteVisible(s)
}

func messages(problems []Problem, more int) []string {
	out := make([]string, 0, len(problems)+1)
	for _, p := range problems {
		out = append(out, p.String())
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more problems of these kinds", more))
	}
	return out
}

// DuplicateProblems names the members whose name stands twice in one object,
// which is invalid publisher output (seed SPEC, section 2), in the order of
// the text; more counts those beyond [MaxProblems].
func (d *Document) DuplicateProblems() (problems []Problem, more int) {
	pointers := 0
	for i, dup := range d.Tree.Duplicates {
		pointers += dup.PointerLength()
		if i > 0 && (i >= MaxProblems || pointers > maxPointers) {
			return problems, len(d.Tree.Duplicates) - i
		}
		at, first := d.Tree.Position(dup.Offset), d.Tree.Position(dup.First)
		problems = append(problems, Problem{
			Code: CodeDuplicate, Pointer: jsontree.WellFormed(dup.Pointer()), Line: at.Line, Column: at.Column,
			Message: fmt.Sprintf("the member %s stands twice in this object, first in line %d, column %d; remove one of the two",
				Show(dup.Name, 60), first.Line, first.Column),
		})
	}
	return problems, 0
}

// DuplicateMessages are the sentences of [Document.DuplicateProblems].
func (d *Document) DuplicateMessages() []string { return messages(d.DuplicateProblems()) }

// collector gathers the problems of one document.
type collector struct {
	doc   *jsontree.Document
	found []located
}

type located struct {
	offset  int
	pointer string
	code    Code
	message string
}

func (c *collector) none() bool { return len(c.found) == 0 }

func (c *collector) add(code Code, offset int, pointer, format string, args ...any) {
	c.found = append(c.found, located{offset, pointer, code, fmt.Sprintf(format, args...)})
}

// sorted gives the problems by place, pointer and message.
func (c *collector) sorted() (problems []Problem, more int) {
	slices.SortFunc(c.found, func(a, b located) int {
		return cmp.Or(a.offset-b.offset, strings.Compare(a.pointer, b.pointer), strings.Compare(a.message, b.message))
	})
	for i, f := range c.found {
		if i == MaxProblems {
			return problems, len(c.found) - i
		}
		at := c.doc.Position(f.offset)
		problems = append(problems, Problem{f.code, jsontree.WellFormed(f.pointer), at.Line, at.Column, f.message})
	}
	return problems, 0
}
