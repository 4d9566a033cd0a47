package jsontree

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// What Stringify writes is JSON that means the same.
func FuzzStringify(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-0,1e400,"\ud800\udc00\ud800",{"b":null,"b":true}],"10":1,"9":{}}`, `"\u007f\ufeff\u2028\\"`, "[\"\xed\xa0\x80\xff\"]",
		`{"\ud800":1,"\ud801":{"\ud800":2}}`, "[[[[]]]]", "nul", "{\"a\":1,}", "\ufeff1", "\"\t\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(data)
		if err != nil {
			e := err.(*SyntaxError)
			if e.Line < 1 || e.Column < 1 || !utf8.ValidString(e.Message) || len(e.Message) > 200 || strings.ContainsFunc(e.Message, func(r rune) bool { return r < ' ' }) {
				t.Fatalf("%q: %q", data, e.Error())
			}
			return
		}
		for _, indent := range []string{"", "  "} {
			out := Stringify(&d.Root, indent)
			again, err := Parse([]byte(out))
			if err != nil {
				t.Fatalf("%q became %q: %v", data, out, err)
			}
			if len(again.Duplicates) > 0 {
				t.Fatalf("%q became %q with duplicates", data, out)
			}
			if second := Stringify(&again.Root, indent); second != out {
				t.Fatalf("%q became %q became %q", data, out, second)
			}
			if indent == "" && CompactSize(&d.Root) != len(out) {
				t.Fatalf("%q: size %d of %q", data, CompactSize(&d.Root), out)
			}
		}
		for _, dup := range d.Duplicates {
			if dup.First >= dup.Offset || !strings.HasPrefix(dup.Pointer(), "/") || d.Position(dup.Offset).Line < 1 {
				t.Fatalf("%q: duplicate %+v at %q", data, dup, dup.Pointer())
			}
		}
	})
}
