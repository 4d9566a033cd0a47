package jsontree

import (
	"strconv"
	"strings"
	"testing"
)

// The limit for a hostile document of one MiB is 250 ms of CPU.
func BenchmarkParseHostile(b *testing.B) {
	const size = 1 << 20
	fill := func(open, one, end string) string {
		return open + strings.Repeat(one, (size-len(open)-len(end))/len(one)) + end
	}
	var members strings.Builder
	for i := range 100_000 {
		members.WriteString(`"` + strconv.Itoa(i/2) + `":1,`)
	}
	for _, c := range []struct{ name, text string }{
		{"10000-levels", strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)},
		{"open-brackets", strings.Repeat("[", size)},
		{"depth-1000-duplicates", fill("[", strings.Repeat(`{"":1,"":`, 900)+"1"+strings.Repeat("}", 900)+",", "1]")},
		{"huge-exponents", fill("[", "1e1000000,", "1]")},
		{"one-long-number", fill("", "9", "9")},
		{"100k-members-half-twice", "{" + members.String() + `"":1}`},
		{"same-name", fill("{", `"":1,`, `"":1}`)},
		{"escapes", fill(`"`, `\ud800`, `"`)},
		{"invalid-bytes", fill(`"`, "\xed\xa0", `"`)},
		{"empty-lists", fill("[", "[],", "1]")},
		{"line-ends", fill("[", "\n", "]]")},
	} {
		b.Run(c.name, func(b *testing.B) {
			data := []byte(c.text)
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				d, err := Parse(data)
				if err == nil {
					Stringify(&d.Root, "")
					for _, dup := range d.Duplicates[:min(100, len(d.Duplicates))] {
						d.Position(dup.Offset)
						_ = dup.Pointer()
					}
				}
			}
		})
	}
}
