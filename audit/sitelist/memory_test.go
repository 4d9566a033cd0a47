package sitelist

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// times gives a text n times and keeps it but once.
func times(text string, n int) io.Reader { return &repeater{text: text, left: n} }

type repeater struct {
	text     string
	at, left int
}

func (r *repeater) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && r.left > 0 {
		c := copy(p[n:], r.text[r.at:])
		n += c
		if r.at += c; r.at == len(r.text) {
			r.at = 0
			r.left--
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// A list of any length needs the same memory: what is in use while it is
// read does not grow with it.
func TestMemoryStaysBounded(t *testing.T) {
	const lines = 20_000
	for about, r := range map[string]io.Reader{
		"text":   times("https://site.example/\n", lines),
		"csv":    io.MultiReader(strings.NewReader("url,label\n"), times("site.example,\"a \"\"label\"\"\"\n", lines)),
		"ndjson": times("{\"url\":\"site.example\",\"x\":[1,2,3]}\n", lines),
		"json":   io.MultiReader(strings.NewReader(`{"listings":[{"url":"a.example"}`), times(`,{"url":"site.example"}`, lines), strings.NewReader("]}")),
		"xml":    io.MultiReader(strings.NewReader("<urlset>"), times("<url><loc>https://site.example/</loc></url>", lines), strings.NewReader("</urlset>")),
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		n := 0
		for _, err := range Read(t.Context(), Source{Name: about, Reader: r}, Options{}) {
			if err != nil {
				t.Fatalf("%s: %v", about, err)
			}
			if n++; n == lines-1 {
				runtime.GC()
				runtime.ReadMemStats(&after)
			}
		}
		if n < lines {
			t.Errorf("%s: %d lines", about, n)
		}
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 6<<20 {
			t.Errorf("%s: %d bytes are in use", about, grown)
		}
	}
}

// A document that is too large to be looked at as a whole is still not read
// by a guess in silence.
func TestSecondListInALargeDocument(t *testing.T) {
	filler := strings.Repeat("x", 400)
	const lines = guessBytes / 400
	for about, c := range map[string]struct{ tail, want string }{
		"none":    {`],"tags":["x",["a.example"]],"next":null}`, ""},
		"another": {`],"old":{"sites":["b.example"]}}`, "there is another list of sites, /old/sites, behind the one that was read; choose one with --pointer"},
	} {
		r := io.MultiReader(strings.NewReader(`{"new":[{"url":"a.example"}`), times(`,{"url":"a.example","x":"`+filler+`"}`, lines), strings.NewReader(c.tail))
		n := 0
		var last error
		for _, err := range Read(t.Context(), Source{Reader: r}, Options{}) {
			if last = err; err == nil {
				n++
			}
		}
		if n != lines+1 || (last == nil) != (c.want == "") || last != nil && !strings.Contains(last.Error(), c.want) {
			t.Errorf("%s: %d lines, %v", about, n, last)
		}
	}
}

// Values that would need too much memory end the list with an error.
func TestHugeValues(t *testing.T) {
	huge := func() io.Reader { return times("x", 64<<20) }
	for about, c := range map[string]struct {
		r    io.Reader
		want string
	}{
		"json":   {io.MultiReader(strings.NewReader(`["a.example","`), huge()), "an element is larger than 1048576 bytes"},
		"xml":    {io.MultiReader(strings.NewReader(`<urlset><url><loc>`), huge()), "is larger than 1048576 bytes"},
		"depth":  {io.MultiReader(strings.NewReader(`<urlset>`), times("<a>", 1<<20)), "nested deeper than 64 levels"},
		"nested": {io.MultiReader(strings.NewReader(`["a.example",`), times("[", 1<<20)), "this is not JSON from here on"},
	} {
		var last error
		for _, err := range Read(t.Context(), Source{Reader: c.r}, Options{}) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), c.want) {
			t.Errorf("%s: %v", about, last)
		}
	}
}

func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"outside.xml":      "<urlset><url><loc>https://outside.example/</loc></url></urlset>",
		"lists/index.xml":  "<sitemapindex><sitemap><loc>a.xml</loc></sitemap><sitemap><loc>link.xml</loc></sitemap></sitemapindex>",
		"lists/a.xml":      "<urlset><url><loc>https://a.example/</loc></url></urlset>",
		"lists/sites.text": "b.example\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "outside.xml"), filepath.Join(dir, "lists", "link.xml")); err != nil {
		t.Fatal(err)
	}
	src, closer, err := OpenFile(filepath.Join(dir, "lists", "index.xml"))
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	got := showSource(t, src, Options{})
	if !strings.HasPrefix(got, "a.xml 1 a.example||||\n2 \"link.xml\" ! the file could not be opened") {
		t.Error(got)
	}
	if _, _, err := OpenFile(filepath.Join(dir, "none")); err == nil {
		t.Error("a file that is not there was opened")
	}
}

// How the bytes arrive does not matter.
func TestSmallReads(t *testing.T) {
	for _, text := range []string{
		"a.example\r\nb.example\rc.example\n\n" + strings.Repeat("x", MaxLine+5) + "\r\nd.example",
		"url,label\r\na.example,\"x\r\ny\"\r\nb.example,\"z\n",
		`{"a":{"b":[{"url":"a.example"},{"url":"b.example"}]}}`,
		wide("a.example\r\nb.example\r\n", true), zipped("a.example\r\nb.example\r\n"),
		"<urlset><url><loc>https://a.example/</loc></url></urlset>",
	} {
		want := show(t, "-", text, Options{})
		if got := showSource(t, Source{Name: "-", Reader: iotest.OneByteReader(strings.NewReader(text))}, Options{}); got != want {
			t.Errorf("%.60q: got\n%swant\n%s", text, got, want)
		}
		if got := showSource(t, Source{Name: "-", Reader: iotest.DataErrReader(strings.NewReader(text))}, Options{}); got != want {
			t.Errorf("%.60q with the end at once: got\n%swant\n%s", text, got, want)
		}
	}
}

// A line that a failing read cuts off is not taken: half a URL is another URL.
func TestFailingReads(t *testing.T) {
	for _, text := range []string{"a.example\nb.exam", "url\na.example\nb.exam", "\"a.example\"\n\"b.exam\"", "[\"a.example\",\"b.exam"} {
		r := io.MultiReader(strings.NewReader(text), iotest.ErrReader(fmt.Errorf("the disk is gone")))
		got := showSource(t, Source{Name: "l", Reader: r}, Options{})
		if !strings.Contains(got, " a.example||||\n") || strings.Contains(got, "b.exam|") || !strings.Contains(got, "error l") || !strings.Contains(got, "the disk is gone") {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"a.example\n# x\nb c\n", "url,label\na.example,\"x\ny\"\n", `{"a":[{"url":"a.example","readme":"x"}]}`, "\"a.example\"\n{\n",
		"<urlset><url><loc>https://a.example/</loc></url></urlset>", "<sitemapindex><sitemap><loc>x</loc></sitemap></sitemapindex>",
		zipped("a.example"), wide("a.example", false), "sep=;\nurl;id\na;\"", "\ufeffurl\r\ra", "[\"a\xff\"]",
	} {
		for _, format := range append(Formats, FormatAuto) {
			f.Add([]byte(s), string(format))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, format string) {
		ended := false
		last := int64(0)
		for l, err := range Read(t.Context(), Source{Name: "l", Reader: bytes.NewReader(data)}, Options{Format: Format(format)}) {
			if ended {
				t.Fatal("there was more behind an error")
			}
			if err != nil {
				ended = true
				continue
			}
			if l.Number <= last || (l.Reject == "") != (l.Target != nil) || l.Reject != "" && l.ReadmeURL != nil || len(l.Text) > MaxText {
				t.Fatalf("%+v", l)
			}
			last = l.Number
		}
	})
}

func BenchmarkRead(b *testing.B) {
	const lines = 100_000
	for _, c := range []struct{ name, head, line, tail string }{
		{"text", "", "https://site.example/agentic.json\n", ""},
		{"domains", "", "site.example\n", ""},
		{"csv", "id,url,label,tags\n", "17,https://site.example/agentic.json,A site,\"a, b\"\n", ""},
		{"ndjson", "", "{\"id\":17,\"url\":\"https://site.example/agentic.json\",\"name\":\"A site\",\"tags\":[\"a\",\"b\"]}\n", ""},
		{"json", `{"listings":[{"url":"a.example"}`, ",{\"id\":17,\"url\":\"https://site.example/agentic.json\",\"name\":\"A site\",\"tags\":[\"a\",\"b\"]}\n", "]}"},
		{"sitemap", "<urlset>", "<url><loc>https://site.example/</loc></url>\n", "</urlset>"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				r := io.MultiReader(strings.NewReader(c.head), times(c.line, lines), strings.NewReader(c.tail))
				for _, err := range Read(b.Context(), Source{Name: c.name, Reader: r}, Options{}) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n < lines {
					b.Fatal(n)
				}
			}
			b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
