package openapi

import (
	"fmt"
	"strings"
	"testing"

	"agentaudit/audit/profile"
)

// realistic is a document like those that tools write, of about size bytes.
func realistic(size int) string {
	var b strings.Builder
	b.WriteString(seats[:len(seats)-2])
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, `,"/things/%d":{"get":{"operationId":"get%d","summary":"Read thing %d","tags":["things"],"parameters":[{"name":"page","in":"query","schema":{"type":"integer","minimum":1}}],
 "responses":{"200":{"description":"OK","content":{"application/json":{"schema":{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string","maxLength":80},"tags":{"type":"array","items":{"$ref":"#/components/schemas/Tag"}}}}}}},"404":{"$ref":"#/components/responses/NotFound"}}}}`, i, i, i)
	}
	return b.String() + "}}"
}

// The limit for a hostile document of one MiB is 250 ms of CPU.
func BenchmarkParse(b *testing.B) {
	const size = 1 << 20
	var tiny, ids, duplicates strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&tiny, `"/%d":{"get":{}},`, i)
		fmt.Fprintf(&duplicates, `"/":{"get":{}},`)
	}
	for i := range 25_000 {
		fmt.Fprintf(&ids, `"/%d":{"get":{"operationId":"reserve"}},`, i)
	}
	fill := func(open, one, end string) string {
		return open + strings.Repeat(one, (size-len(open)-len(end))/len(one)) + end
	}
	for _, c := range []struct{ name, text string }{
		{"realistic-10KiB", realistic(10 << 10)}, {"realistic-256KiB", realistic(256 << 10)}, {"realistic-1MiB", realistic(size)},
		{"50000-paths", `{"openapi":"3.1.0","paths":{` + tiny.String() + `"/":{}}}`},
		{"50000-equal-paths", `{"openapi":"3.1.0","paths":{` + duplicates.String() + `"/":{}}}`},
		{"25000-equal-ids", `{"openapi":"3.1.0","paths":{` + ids.String() + `"/":{}}}`},
		{"10000-levels", `{"paths":` + strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_001)},
		{"1000-levels-often", fill(`{"x":[`, strings.Repeat("[", 990)+strings.Repeat("]", 990)+",", "1]}")},
		{"parameters", fill(`{"openapi":"3.1.0","paths":{"/a":{"post":{"operationId":"reserve","parameters":[`, "{},", "{}]}}}}")},
		{"media-types-equal", fill(`{"openapi":"3.1.0","paths":{"/a":{"post":{"operationId":"reserve","requestBody":{"content":{`, `"":{},`, `"a":{}}}}}}}`)},
		{"operations-equal", fill(`{"openapi":"3.1.0","paths":{"/a":{`, `"get":{},`, `"post":{}}}}`)},
		{"numbers", fill(`{"openapi":"3.1.0","x":[`, "1e1000000,", "1]}")},
		{"lines", fill(`{"openapi":"3.1.0","paths":{`, "\n", "}}")},
	} {
		b.Run(c.name, func(b *testing.B) {
			data := []byte(c.text)
			actions := make([]profile.ActionItem, 32)
			for i := range actions {
				actions[i] = reserve
			}
			index := profile.API{Operations: make([]profile.Operation, profile.MaxOperations)}
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				d, err := Parse(data)
				if err != nil {
					continue
				}
				d.Operations()
				CheckBindings(d, actions)
				CheckIndex(d, index)
			}
		})
	}
}
