package profile

import (
	"fmt"
	"strings"
	"testing"
)

// typicalSite is a site profile of about 3 KB.
func typicalSite() []byte {
	var b strings.Builder
	b.WriteString(`{"$schema":"` + SiteSchemaID + `","agentic":"1.1.0","type":"site","origin":"https://site.example","name":"Harbour Ferries",
 "description":"Sailing times and seat bookings of a small island ferry line.","resources":[
 {"kind":"openapi","url":"https://site.example/openapi.json","source":"https://site.example/","availability":"retrieved","title":"Ferry API"}`)
	for i := range 9 {
		fmt.Fprintf(&b, ",\n {\"kind\":\"documentation\",\"url\":\"https://site.example/docs/%d\",\"source\":\"https://site.example/\",\"availability\":\"linked\",\"title\":\"Page %d\"}", i, i)
	}
	b.WriteString(`],"apis":[{"document":"https://site.example/openapi.json","openapi":"3.1.0","operations":[{"method":"GET","path":"/sailings"}`)
	for i := range 11 {
		fmt.Fprintf(&b, ",\n  {\"method\":\"POST\",\"path\":\"/sailings/%d/seats\",\"operationId\":\"bookSeat%d\",\"summary\":\"Book seat %d\"}", i, i, i)
	}
	b.WriteString("]}]}")
	return []byte(b.String())
}

func BenchmarkTypicalSite(b *testing.B) {
	data := typicalSite()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		d, err := Decode(data)
		if err != nil {
			b.Fatal(err)
		}
		if v := d.Validate(Options{}); !v.Valid() {
			b.Fatal(v.Messages())
		}
	}
}

func BenchmarkTypicalSiteDecodeOnly(b *testing.B) {
	data := typicalSite()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}

// The limit for a hostile document is 250 ms of CPU.
func BenchmarkHostile(b *testing.B) {
	const size = MaxSize
	fill := func(open, one, end string) string {
		return open + strings.Repeat(one, (size-len(open)-len(end))/len(one)) + end
	}
	site := func(member, value string) string {
		return strings.Replace(string(typicalSite()), `"`+member+`":`, `"`+member+`":`+value+`,"x":`, 1)
	}
	numbers := fill("[", "1e308,", "1]")
	at := strings.Repeat(`{"kind":"website","url":"https://`+strings.Repeat("@", 1950)+`x/","source":"https://a/","availability":"retrieved"},`, 31)
	for _, c := range []struct{ name, text string }{
		{"duplicates-deep", fill("[", strings.Repeat(`{"":1,"":`, 900)+"1"+strings.Repeat("}", 900)+",", "1]")},
		{"duplicates-below-a-long-name", `{"` + strings.Repeat("a", size/2) + `":` + "{" + strings.Repeat(`"":1,`, 6000) + `"":1}}`},
		{"unknown-members", "{" + strings.TrimSuffix(func() (s string) {
			for i := range 8000 {
				s += fmt.Sprintf(`"%x":1,`, i)
			}
			return s
		}(), ",") + "}"},
		{"resources-of-numbers", site("resources", numbers)},
		{"success-values", fmt.Sprintf(`{"actions":[{"evidence":{"successValues":%s}}]}`, numbers)},
		{"success-values-10", `{"actions":[{"evidence":{"successValues":[` + strings.TrimSuffix(strings.Repeat("1e308,", 10), ",") + `]}}]}`},
		{"credentials", `{"agentic":"1.1.0","type":"site","origin":"https://a","name":"a","description":"a","apis":[],"resources":[` + strings.TrimSuffix(at, ",") + "]}"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d, err := Decode([]byte(c.text))
				if err != nil {
					b.Fatal(err)
				}
				if d.Validate(Options{}).Messages() == nil {
					b.Fatal("valid")
				}
			}
		})
	}
}
