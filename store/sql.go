package store

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// placeholders is a list of n parameters from $first on: ($2, $3).
func placeholders(first, n int) string {
	var b strings.Builder
	b.WriteByte('(')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(first + i))
	}
	b.WriteByte(')')
	return b.String()
}

// encodeList is a list of strings as JSON text.
func encodeList(l []string) string {
	if len(l) == 0 {
		return "[]"
	}
	b, err := json.Marshal(l)
	if err != nil { // strings cannot fail
		panic(err)
	}
	return string(b)
}

// decodeList undoes encodeList; it returns nil for the empty list.
func decodeList(s string) ([]string, error) {
	if s == "[]" {
		return nil, nil
	}
	var l []string
	if err := json.Unmarshal([]byte(s), &l); err != nil {
		return nil, fmt.Errorf("the database is damaged: a list column holds %.60q", s)
	}
	return l, nil
}

// text makes foreign text fit for every database: U+FFFD stands for bytes that
// are not UTF-8 and for NUL, which PostgreSQL does not take.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

func texts(l []string) []string {
	if len(l) == 0 {
		return nil
	}
	out := make([]string, len(l))
	for i, s := range l {
		out[i] = text(s)
	}
	return out
}
