package jsontree

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
)

func parse(t *testing.T, text string) *Document {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%.80q: %v", text, err)
	}
	return d
}

// The right answers were taken from node 20 (V8).
func TestStringifyIsThatOfECMAScript(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"-0", "0"}, {"1e400", "null"}, {"-1e400", "null"}, {"1e21", "1e+21"}, {"123456789012345680000", "123456789012345680000"},
		{"1e-7", "1e-7"}, {"0.000001", "0.000001"}, {"5e-324", "5e-324"}, {"1e-400", "0"}, {"60.0", "60"}, {"1E3", "1000"},
		{`"\/\b\f\n\r\t\"\\"`, `"/\b\f\n\r\t\"\\"`}, {`"\u0000\u001F\u007f\u2028"`, "\"\\u0000\\u001f\u007f\u2028\""},
		{`"<>&'"`, `"<>&'"`}, {`"\ud83d\ude00"`, `"😀"`}, {`"\ude00\uD83D"`, `"\ude00\ud83d"`}, {`"\ud83d\ud83d\ude00"`, `"\ud83d😀"`},
		{`{"b":1,"10":2,"9":3,"a":4,"01":5,"4294967294":6,"4294967295":7,"-1":8}`,
			`{"9":3,"10":2,"4294967294":6,"b":1,"a":4,"01":5,"4294967295":7,"-1":8}`},
		{`{"a":1,"b":2,"a":[3]}`, `{"a":[3],"b":2}`}, {`{"a":1,"\u0061":2}`, `{"a":2}`},
		{`{"\ud800":1,"\ud801":2,"\ud800":3}`, `{"\ud800":3,"\ud801":2}`},
		{`{"__proto__":1,"a":2}`, `{"__proto__":1,"a":2}`}, {" [ ] ", "[]"}, {"{ }", "{}"}, {"null", "null"}, {"[true,false]", "[true,false]"},
	} {
		d := parse(t, c.in)
		if got := Stringify(&d.Root, ""); got != c.want {
			t.Errorf("%s: got %s, want %s", c.in, got, c.want)
		}
		if size := CompactSize(&d.Root); size != len(c.want) {
			t.Errorf("%s: size %d, want %d", c.in, size, len(c.want))
		}
	}
	d := parse(t, `{"a":[],"b":{},"c":[1,{"d":2}]}`)
	want := "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      \"d\": 2\n    }\n  ]\n}"
	if got := Stringify(&d.Root, "  "); got != want {
		t.Errorf("indented: %s", got)
	}
}

func TestQuoteVisibleEscapesWhatHides(t *testing.T) {
	in := "\u007e\u007f\u009f\u00a0\u200a\u200b\u200f\u2010\u2027\u2028\u202e\u202f\u205f\u2060\u206f\u2070\ufefe\ufeff\uff00\"\n"
	want := "\"\u007e\\u007f\\u009f\u00a0\u200a\\u200b\\u200f\u2010\u2027\\u2028\\u202e\u202f\u205f\\u2060\\u206f\u2070\ufefe\\ufeff\uff00\\\"\\n\""
	if got := QuoteVisible(in); got != want {
		t.Errorf("got %+q, want %+q", got, want)
	}
	if got := Quote("\u007f\u200b\xff"); got != "\"\u007f\u200b\uFFFD\"" {
		t.Errorf("Quote leaves them as they are: %+q", got)
	}
}

func TestTextIsDecodedAsBrowsersDo(t *testing.T) {
	for in, want := range map[string]string{
		"\xff\xfe": "\uFFFD\uFFFD", "\xe2\x82": "\uFFFD", "\xe2\x82a": "\uFFFDa", "\xf0\x9f\x92": "\uFFFD", "\xed\xa0\x80": "\uFFFD\uFFFD\uFFFD",
		"\xc0\xaf": "\uFFFD\uFFFD", "\xf0\x80\x80": "\uFFFD\uFFFD\uFFFD", "\xf4\x90\x80\x80": "\uFFFD\uFFFD\uFFFD\uFFFD",
		"\xef\xbb\xbf\xff": "\ufeff\uFFFD", "ä": "ä",
	} {
		if got := DecodeText([]byte(in)); got != want {
			t.Errorf("%x: %+q, want %+q", in, got, want)
		}
	}
}

func TestSyntaxErrorsSayWhereAndWhy(t *testing.T) {
	for _, c := range []struct {
		in           string
		line, column int
		says         string
	}{
		{"", 1, 1, "empty"}, {" \n ", 2, 2, "empty"}, {"\ufeff{}", 1, 1, "byte order mark"}, {"<!doctype html>", 1, 1, "HTML"},
		{"[1,2", 1, 5, "ends before"}, {"{\"a\":\n\"x", 2, 3, "ends before"}, {"{} x", 1, 4, ""}, {"1\r\n 2", 2, 2, "more text"},
		{"{\"ä\":1,}", 1, 7, "comma"}, {"[1,\n]", 1, 3, "comma"}, {"[1 2]", 1, 4, "missing"}, {`{"a" "b"}`, 1, 6, "missing"},
		{"{'a':1}", 1, 2, "double quotes"}, {"[1] // x", 1, 5, "comments"}, {`["\x"]`, 1, 3, "escape"}, {"[\"a\nb\"]", 1, 4, "inside a string"},
		{"[\u00a01]", 1, 2, "U+00A0"}, {"[NaN]", 1, 2, "true, false and null"}, {"[01]", 1, 3, ""}, {"\x00", 1, 1, "U+0000"},
		{"\r[\r\n\n😀", 4, 1, ""}, {"[\"\u202e\" \u202e]", 1, 6, "U+202E"},
	} {
		_, err := Parse([]byte(c.in))
		e, ok := errors.AsType[*SyntaxError](err)
		if !ok {
			t.Errorf("%q: %v", c.in, err)
		} else if e.Line != c.line || e.Column != c.column || !strings.Contains(e.Message, c.says) || strings.ContainsAny(e.Error(), "\n\u202e\x00") {
			t.Errorf("%q: %v, want line %d, column %d, %q", c.in, e, c.line, c.column, c.says)
		}
	}
}

func TestDepth(t *testing.T) {
	nest := func(n int) string {
		return strings.Repeat(`[{"a":`, n/2) + "1" + strings.Repeat("}]", n/2)
	}
	parse(t, nest(MaxDepth))
	parse(t, strings.Repeat("[", MaxDepth)+strings.Repeat("]", MaxDepth))
	_, err := Parse([]byte("[" + nest(MaxDepth) + "]"))
	if e, ok := errors.AsType[*SyntaxError](err); !ok || !e.Depth {
		t.Errorf("1,001 levels: %v", err)
	}
	_, err = Parse([]byte(strings.Repeat("[", 10_000_000)))
	if e, ok := errors.AsType[*SyntaxError](err); !ok || !e.Depth || e.Column != 1001 {
		t.Errorf("ten million levels: %v", err)
	}
}

func TestDuplicatesAreAllNamed(t *testing.T) {
	d := parse(t, "{\"x\":{\"a/~\":[0,{\"b\":1,\n \"b\":2,\"c\":{},\"b\":3}]},\n\"x\":null,\"\\u0078\":1}")
	type dup struct {
		pointer      string
		line, column int
		first        int
	}
	want := []dup{{"/x/a~1~0/1/b", 2, 2, 16}, {"/x/a~1~0/1/b", 2, 15, 16}, {"/x", 3, 1, 1}, {"/x", 3, 10, 1}}
	if len(d.Duplicates) != len(want) {
		t.Fatalf("%d duplicates, want %d", len(d.Duplicates), len(want))
	}
	for i, w := range want {
		got := d.Duplicates[i]
		at := d.Position(got.Offset)
		if (dup{got.Pointer(), at.Line, at.Column, got.First}) != w {
			t.Errorf("%s at %v, first at %d; want %v", got.Pointer(), at, got.First, w)
		}
	}
	if got := Stringify(&d.Root, ""); got != `{"x":1}` {
		t.Errorf("the last value wins: %s", got)
	}
	var names []string
	for i := range 40 { // enough for the hashed test
		names = append(names, `"n`+string(rune('a'+i%26))+`":1`)
	}
	if n := len(parse(t, "{"+strings.Join(names, ",")+"}").Duplicates); n != 14 {
		t.Errorf("%d duplicates among 40 members, want 14", n)
	}
	if n := len(parse(t, `[{"a":1},{"a":1},{"A":1,"a":1,"\ud800":1,"\ud801":1,"\ufffd":1}]`).Duplicates); n != 0 {
		t.Errorf("%d duplicates where there are none", n)
	}
}

func TestOffsets(t *testing.T) {
	text := "\n {\"a\" : [ 1.5 , true,\"x\\n\" ,null], \"b\":{ }}"
	d := parse(t, text)
	a := d.Root.Member("a")
	for node, want := range map[int]string{
		d.Root.Offset(): "{\"a\"", a.Offset(): `"a"`, a.Value.Offset(): "[", a.Value.Items[0].Offset(): "1.5", a.Value.Items[1].Offset(): "true",
		a.Value.Items[2].Offset(): `"x\n"`, a.Value.Items[3].Offset(): "null", d.Root.Get("b").Offset(): "{ }",
	} {
		if !strings.HasPrefix(text[node:], want) {
			t.Errorf("offset %d is %.5q, want %q", node, text[node:], want)
		}
	}
	if p := d.Position(len(text)); p != (Position{2, len(text)}) {
		t.Errorf("the end is at %v", p)
	}
}

func TestWellFormed(t *testing.T) {
	d := parse(t, `"a\ud800\udc00\ud800b\udfff"`)
	if got := WellFormed(d.Root.Str); got != "a\U00010000\uFFFDb\uFFFD" {
		t.Errorf("%+q", got)
	}
	if n := RuneCount(d.Root.Str); n != 5 {
		t.Errorf("%d code points, want 5", n)
	}
	if s := "plain ä"; WellFormed(s) != s || RuneCount(s) != 7 {
		t.Error("UTF-8 stays")
	}
}

func TestNumbersAreDoubles(t *testing.T) {
	d := parse(t, "[1e1000000,-1e400,0.1,1e-1000000]")
	for i, want := range []float64{math.Inf(1), math.Inf(-1), 0.1, 0} {
		if got := d.Root.Items[i].Num; got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// Work that grows faster than the text would show in allocated memory: ten
// times the text must not take much more than ten times the memory.
func TestHostileTextsAreLinear(t *testing.T) {
	deep := func(n int) string { // duplicates at every level
		one := strings.Repeat(`{"a":1,"a":`, 900) + "1" + strings.Repeat("}", 900)
		return "[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]"
	}
	flat := func(n int) string { return "{" + strings.TrimSuffix(strings.Repeat(`"":1,`, n), ",") + "}" }
	for name, f := range map[string]func(int) string{"deep": deep, "flat": func(n int) string { return flat(n * 2000) }} {
		bytesOf := func(text string) float64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := Parse([]byte(text)); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			return float64(after.TotalAlloc - before.TotalAlloc)
		}
		if small, large := bytesOf(f(1)), bytesOf(f(10)); large > 25*small {
			t.Errorf("%s: ten times the text takes %.0f times the memory", name, large/small)
		}
	}
}

func TestLookups(t *testing.T) {
	d := parse(t, `{"a":{"b":"x"},"c":[1]}`)
	if s, ok := d.Root.Get("a").Get("b").Text(); s != "x" || !ok || !d.Root.Get("a").Get("b").IsString("x") {
		t.Error("a member of a member")
	}
	if n := d.Root.Get("c").Get("b").Get("x"); n != nil || n.IsString("") || d.Root.Get("A") != nil {
		t.Error("what is not there is nil")
	}
	if _, ok := d.Root.Get("c").Text(); ok {
		t.Error("a list is no text")
	}
	for kind, name := range map[Kind]string{Null: "null", Bool: "boolean", Number: "number", String: "string", Array: "array", Object: "object"} {
		if kind.Name() != name {
			t.Errorf("%s, want %s", kind.Name(), name)
		}
	}
}

func TestNodesCanBeMade(t *testing.T) {
	n := NewObject(Member{Name: "b", Value: NewArray(NewString("x"), Node{})}, Member{Name: "a", Value: NewArray()})
	if got := Stringify(&n, ""); got != `{"b":["x",null],"a":[]}` {
		t.Error(got)
	}
	if got := Pointer("a/b", "~", "", "0"); got != "/a~1b/~0//0" || Pointer() != "" {
		t.Error(got)
	}
}

func TestEqual(t *testing.T) {
	values := []string{"null", "true", "false", "1", "1e400", `"1"`, `""`, "[]", "[1]", "[1,2]", "[2,1]", "{}", `{"a":1}`, `{"a":2}`, `{"b":1}`, `{"a":1,"b":2}`, `"\ud800"`, `"\ufffd"`}
	for i, a := range values {
		for j, b := range values {
			if got := Equal(&parse(t, a).Root, &parse(t, b).Root); got != (i == j) {
				t.Errorf("%s and %s: %v", a, b, got)
			}
		}
	}
	for _, pair := range [][2]string{{"0", "-0"}, {"1", "1.0"}, {`{"a":1,"b":[2]}`, `{"b":[2],"a":1}`}, {`"a"`, `"\u0061"`}} {
		if !Equal(&parse(t, pair[0]).Root, &parse(t, pair[1]).Root) {
			t.Errorf("%s and %s are equal", pair[0], pair[1])
		}
	}
}
