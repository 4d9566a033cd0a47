package sitelist

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"unicode/utf16"
)

// show writes lines in a form that tests compare, one a row:
// number target|id|label|tags|readme, or number ! reason.
func show(t *testing.T, name, text string, opt Options) string {
	t.Helper()
	return showSource(t, Source{Name: name, Reader: strings.NewReader(text)}, opt)
}

func showSource(t *testing.T, src Source, opt Options) string {
	t.Helper()
	var b strings.Builder
	for l, err := range Read(t.Context(), src, opt) {
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Errorf("%T is no *Error: %v", err, err)
			}
			fmt.Fprintf(&b, "error %v\n", err)
			continue
		}
		if (l.Reject == "") != (l.Target != nil) {
			t.Errorf("line %+v", l)
		}
		if l.File != "" {
			fmt.Fprintf(&b, "%s ", l.File)
		}
		if l.Reject != "" {
			fmt.Fprintf(&b, "%d %q ! %s", l.Number, l.Text, l.Reject)
		} else {
			fmt.Fprintf(&b, "%d %s|%s|%s|%s|", l.Number, strings.TrimSuffix(strings.TrimPrefix(l.Target.String(), "https://"), "/agentic.json"), l.ID, l.Label, strings.Join(l.Tags, "+"))
			if l.ReadmeURL != nil {
				b.WriteString(l.ReadmeURL.String())
			}
		}
		for _, n := range l.Notes {
			fmt.Fprintf(&b, " (%s)", n)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

type listCase struct {
	about, name, text string
	opt               Options
	want              string
}

func run(t *testing.T, cases []listCase) {
	t.Helper()
	for _, c := range cases {
		if got := show(t, c.name, c.text, c.opt); got != c.want {
			t.Errorf("%s:\ngot\n%swant\n%s", c.about, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	run(t, []listCase{
		{"comments, blanks and every line end", "l.txt", "# all\n\na.example\r\n  https://b.example/x \rc.example # three\n\n\t\n#end\nd.example", Options{},
			"3 a.example||||\n4 b.example/x||||\n5 c.example||||\n9 d.example||||\n"},
		{"bad lines do not stop it", "-", "http://a.example\nb c\nd.example?x=1\ne.example\n", Options{},
			"1 \"http://a.example\" ! the site is not usable: only https URLs are read, this one is http\n" +
				"2 \"b c\" ! the site is not usable: this is not a URL\n" +
				"3 \"d.example?x=1\" ! the site is not usable: the URL has a query (the part behind ?); give it without one\n" +
				"4 e.example||||\n"},
		{"invisible characters", "-", "\u200ba.example\u00ad\n\u2800https://b.example\u2060 \n\u00a0c.example\u00a0\n\u200b\n", Options{},
			"1 a.example|||| (invisible characters around the URL were removed)\n" +
				"2 b.example|||| (invisible characters around the URL were removed)\n3 c.example||||\n"},
		{"templates", "-", "https://{tenant}.example\na.example/${x}/y\nb.example/%7Bid%7D\nc.example/<name>\nd.example/{}\ne.example/a}b{c", Options{},
			"1 \"https://{tenant}.example\" ! the site is not usable: it has an unfilled template, {tenant}\n" +
				"2 \"a.example/${x}/y\" ! the site is not usable: it has an unfilled template, {x}\n" +
				"3 \"b.example/%7Bid%7D\" ! the site is not usable: it has an unfilled template, %7Bid%7D\n" +
				"4 \"c.example/<name>\" ! the site is not usable: it has an unfilled template, <name>\n" +
				"5 \"d.example/{}\" ! the site is not usable: it has an unfilled template, {}\n" +
				"6 e.example/a%7Db%7Bc||||\n"},
		{"passwords are not kept", "-", "https://anna:hunter2@a.example/\nanna@b.example\n", Options{},
			"1 \"https://anna:***@a.example/\" ! the site is not usable: the URL carries a user name or password; remove it (the password in the URL was not kept)\n" +
				"2 \"anna@b.example\" ! the site is not usable: the URL carries a user name or password; remove it\n"},
		{"bytes that are not UTF-8", "-", "f\xe4hre.example\nfähre.example\n", Options{},
			"1 \"f\ufffdhre.example\" ! the site is not usable: it has bytes that are not UTF-8; save the list as UTF-8 (bytes of the text that are not UTF-8 were replaced)\n2 xn--fhre-loa.example||||\n"},
		{"a byte order mark", "-", "\ufeffa.example\n", Options{}, "1 a.example||||\n"},
		{"CSV without a header", "-", "stale.example,9,y\n\"https://anna:hunter2@a.example/\",7,cred\nhttps://b.example/;8;x\nc.example\t9\ty\nhttps://d.example/ nine\ne.example # fine, it is\n", Options{},
			"1 \"stale.example,9,y\" ! " + rejectCells + "\n2 \"\\\"https://anna:***@a.example/\\\",7,cred\" ! " + rejectCells + " (the password in the URL was not kept)\n" +
				"3 \"https://b.example/;8;x\" ! " + rejectCells + "\n4 \"c.example\\t9\\ty\" ! " + rejectCells + "\n5 \"https://d.example/ nine\" ! " + rejectCells + "\n6 e.example||||\n"},
		{"CSV without a header, quoted from the first line on", "-", "\"a.example\",7\n\"b.example\",8\n", Options{},
			"1 \"\\\"a.example\\\",7\" ! " + rejectCells + "\n2 \"\\\"b.example\\\",8\" ! " + rejectCells + "\n"},
		{"commas in what is said to be plain text", "-", "https://a.example/x,y\nb.example,7\n\"c.example\"\nd_d.example\n[2606:4700::1111]\n", Options{Format: FormatText},
			"1 a.example/x,y||||\n2 \"b.example,7\" ! the site is not usable: its host would have the character ',', which no host name on the web has\n" +
				"3 \"\\\"c.example\\\"\" ! the site is not usable: its host would have the character '\"', which no host name on the web has\n4 d_d.example||||\n5 [2606:4700::1111]||||\n"},
		{"passwords within a path", "-", "https://a.example/https://anna:hunter2@b.example/x\n", Options{},
			"1 \"https://a.example/https://anna:***@b.example/x\" ! the site is not usable: a user name and a password stand within the URL; remove them (the password in the URL was not kept)\n"},
		{"passwords behind what is no scheme", "-", "(https://anna:hunter2@a.example/)\n-https://anna:hunter2@a.example/\nhttps:/anna:hunter2@a.example/\nhttps:\\\\anna:hunter2@a.example/\n<https://anna:hunter2@a.example/>\n\u201chttps://anna:hunter2@a.example/\u201d\n", Options{Format: FormatText},
			"1 \"(https://anna:***@a.example/)\" ! the site is not usable: its host would have the character '(', which no host name on the web has (the password in the URL was not kept)\n" +
				"2 \"-https://anna:***@a.example/\" ! the site is not usable: its host would be \"-https\", which has no dot (the password in the URL was not kept)\n" +
				"3 \"https:/anna:***@a.example/\" ! the site is not usable: its host would be \"https\", which has no dot (the password in the URL was not kept)\n" +
				"4 \"https:\\\\\\\\anna:***@a.example/\" ! the site is not usable: its host would be \"https\", which has no dot (the password in the URL was not kept)\n" +
				"5 \"<https://anna:***@a.example/>\" ! the site is not usable: it has an unfilled template, <https://anna:***@a.example/> (the password in the URL was not kept)\n" +
				"6 \"\u201chttps://anna:***@a.example/\u201d\" ! the site is not usable: its host would be \"xn--https-hw3b\", which has no dot (the password in the URL was not kept)\n"},
		{"passwords in a path", "-", "https://a.example/anna:hunter2@b.example/\n", Options{},
			"1 \"https://a.example/anna:***@b.example/\" ! the site is not usable: a user name and a password stand within the URL; remove them (the password in the URL was not kept)\n"},
		{"nothing", "-", "", Options{}, ""},
		{"nothing but blanks", "-", " \n\t\r\n", Options{}, ""},
	})
}

func TestLongLinesAreRejected(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		for _, size := range []int{MaxLine, MaxLine + 1, 3 * MaxLine, 3*MaxLine + 77} {
			text := "a.example" + end + strings.Repeat("é", size/2) + strings.Repeat("x", size%2) + end + "b.example" + end
			var got []string
			for l, err := range Read(t.Context(), Source{Reader: strings.NewReader(text)}, Options{}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprint(l.Number, " ", len(l.Text), " ", l.Reject, " ", l.Notes))
			}
			reason := "2 4096 the line is longer than 65536 bytes [only the start of the line was kept]"
			if size == MaxLine {
				reason = "2 4096 the site is not usable: the URL is longer than 8192 bytes [the text was cut to 4096 bytes]"
			}
			if len(got) != 3 || got[0] != "1 9  []" || got[1] != reason || got[2] != "3 9  []" {
				t.Errorf("%d bytes, %q: %q", size, end, got)
			}
		}
	}
}

func TestCSV(t *testing.T) {
	run(t, []listCase{
		{"the first known column wins", "l.csv", "Title,Website,URL\nA,w.example,u.example\n", Options{}, "2 u.example||A||\n"},
		{"case, blanks and quotes in the header", "-", "\"ID\", \"Home Page\" ,\" Domain \"\n7,x,a.example\n", Options{}, "2 a.example|7|||\n"},
		{"the column that is asked for", "-", "id,Landing,url\n1,a.example,b.example\n", Options{Column: "landing"}, "2 a.example|1|||\n"},
		{"all columns", "-", "slug;name;tags;readme_url;site\ns;N;x, y|z;r.example/README.md;a.example\n", Options{},
			"2 a.example|s|N|x+y+z|https://r.example/README.md\n"},
		{"columns by option", "-", "k\tl\tm\tn\turl\n1\t2\t3\tr.example/x\ta.example\n", Options{IDColumn: "K", LabelColumn: "l", TagColumn: "m", ReadmeColumn: "n"},
			"2 a.example|1|2|3|https://r.example/x\n"},
		{"cells over several lines", "-", "url,label\na.example,\"two\nlines, \"\"quoted\"\"\"\nb.example,x\n", Options{},
			"2 a.example||two\nlines, \"quoted\"||\n4 b.example||x||\n"},
		{"line ends", "-", "url,id\ra.example,1\r\nb.example,2\n", Options{}, "2 a.example|1|||\n3 b.example|2|||\n"},
		{"broken records", "-", "url,label\na.example,\"x\"y\nb.example,\"open\nc.example,z\nd.example\n", Options{},
			"2 \"a.example,\\\"x\\\"y\" ! this is not CSV: there is text behind a closing quotation mark; quotation marks in a cell must be doubled\n" +
				"3 \"b.example,\\\"open\" ! this is not CSV: a quotation mark is not closed\n4 c.example||z||\n5 d.example||||\n"},
		{"too many cells, too few cells", "-", "id,url\n1,a.example,,\n2,b.example,x\n3\n,,\n", Options{},
			"2 a.example|1|||\n3 \"2,b.example,x\" ! the record has 3 cells, but the header has 2; a cell that holds a separator needs quotation marks\n" +
				"4 \"3\" ! the record has 1 cells, but the site stands in the 2nd\n"},
		{"a record without a site", "-", "id,url\n1,\n", Options{}, "2 \"1,\" ! the site is not usable: the URL is empty\n"},
		{"no known column", "l.csv", "a,b\n1,2\n", Options{},
			"error l.csv, line 1: no column is named url, website, site, homepage, domain, origin, link; the columns are: \"a\", \"b\"; name the one with the sites (--column), or say that this is plain text (--list-format text)\n"},
		{"the asked column is missing", "l.csv", "url,b\na.example,2\n", Options{LabelColumn: "Name"},
			"error l.csv, line 1: there is no column \"name\"; the columns are: \"url\", \"b\"\n"},
		{"a column twice", "l.csv", "url,URL\na.example,2\n", Options{}, "error l.csv, line 1: two columns are named \"url\"; the columns are: \"url\", \"URL\"; rename one of them\n"},
		{"one column", "-", "website\na.example\n", Options{}, "2 a.example||||\n"},
		{"the separator said by a spreadsheet", "-", "sep=|\nurl|id\na.example|1\n", Options{}, "3 a.example|1|||\n"},
		{"a header over several lines", "l.csv", "\"the\nname\";url\nx;a.example\n", Options{}, "3 a.example||||\n"},
		{"plain text in a .csv", "l.csv", "a.example\nb.example\n", Options{Format: FormatText}, "1 a.example||||\n2 b.example||||\n"},
		{"bad README URLs reject the line", "-", "url,readme\na.example,http://r.example/x\nb.example,https://localhost/x\nc.example,README.md\nd.example,r.example/README.md\n", Options{},
			"2 \"a.example\" ! the README URL \"http://r.example/x\" is not usable: only https URLs are read, this one is http\n" +
				"3 \"b.example\" ! the README URL \"https://localhost/x\" is not usable: localhost is a name of the local machine or network, not of the public internet\n" +
				"4 \"c.example\" ! the README URL \"README.md\" is not usable: it is a file name without a host; give the whole URL\n" +
				"5 d.example||||https://r.example/README.md\n"},
		{"a README instead of its URL", "-", "url,readme\na.example,# Hello there\n", Options{}, "2 a.example|||| (what the list calls readme is a text, not a URL; it was not used)\n"},
		{"only a header", "l.csv", "url\n", Options{}, ""},
		{"nothing", "l.csv", "", Options{Format: FormatCSV}, ""},
	})
}

func TestJSON(t *testing.T) {
	run(t, []listCase{
		{"texts", "-", `["a.example", "b.example/x", 7, null, ["c.example"], "", {}]`, Options{},
			"1 a.example||||\n2 b.example/x||||\n3 \"7\" ! this is a number, neither a text nor an object with the site in it\n" +
				"4 \"null\" ! this is null, neither a text nor an object with the site in it\n5 \"[\\\"c.example\\\"]\" ! this is a list, neither a text nor an object with the site in it\n" +
				"6 \"\" ! the site is not usable: the URL is empty\n7 \"{}\" ! the object has no text named url, website, site, homepage, domain, origin, link\n"},
		{"objects", "-", `[{"ID": 12345678901234567890, "Name":"N", "tags":["x", {"name":"y"}, 3, null], "URL":"", "website":"a.example", "readmeUrl":"https://r.example/R.md"},
			{"slug":"s","title":"T","tags":"p; q","url":"b.example","readme":null,"readme_url":""}]`, Options{},
			"1 a.example|12345678901234567890|N|x+y+3|https://r.example/R.md\n2 b.example|s|T|p+q|\n"},
		{"a page of a directory", "-", `{"count":2,"listings":[{"id":"1","url":"a.example","tags":["b.example"]},{"id":"2","url":"b.example"}],"nextOffset":50}`, Options{},
			"1 a.example|1||b.example|\n2 b.example|2|||\n"},
		{"a nested page", "-", `{"data":{"items":[{"url":"a.example"}],"errors":[]},"meta":{"words":["x","y"]}}`, Options{}, "1 a.example||||\n"},
		{"an empty page", "-", `{"listings":[],"next":null}`, Options{}, ""},
		{"one site", "-", `{"url":"a.example","tags":["x"]}`, Options{}, "1 a.example|||x|\n"},
		{"two lists", "p.json", `{"new":[{"url":"a.example"}],"old":{"a/b":["b.example"]}}`, Options{},
			"error p.json: there is more than one list of sites: /new, /old/a~1b; choose one with --pointer\n"},
		{"two lists, one chosen", "p.json", `{"new":[{"url":"a.example"}],"old":{"a/b":["b.example"]}}`, Options{Pointer: "/old/a~1b"}, "1 b.example||||\n"},
		{"a pointer through a list", "-", `{"pages":[{"items":["a.example"]},{"items":["b.example"]}]}`, Options{Pointer: "/pages/1/items"}, "1 b.example||||\n"},
		{"a pointer to one object", "-", `{"a":{"url":"a.example"}}`, Options{Pointer: "/a"}, "1 a.example||||\n"},
		{"a pointer that leads nowhere", "p.json", `{"a":{"b":1,"c":2}}`, Options{Pointer: "/a/d"},
			"error p.json: the pointer \"/a/d\" leads nowhere: the members at \"/a\" are \"b\", \"c\"\n"},
		{"a pointer into a text", "p.json", `{"a":"x"}`, Options{Pointer: "/a/d"}, "error p.json: the pointer \"/a/d\" leads nowhere: at \"/a\" stands a text\n"},
		{"a pointer that is none", "p.json", `{}`, Options{Pointer: "listings"}, "error p.json: \"listings\" is no JSON Pointer: it must begin with /, as in /listings\n"},
		{"no list", "p.json", `{"a":[1],"b":{"c":[]}, "d":[]}`, Options{},
			"error p.json: no list of sites is found in the document: none has elements that are URLs or objects with url, website, site, homepage, domain, origin, link; its lists are /a, /b/c, /d; name the list with --pointer and the member with --column\n"},
		{"a member by option", "-", `{"x":[{"landing":"a.example","url":"b.example"}]}`, Options{Column: "Landing"}, "1 a.example||||\n"},
		{"broken in the middle", "p.json", "[\"a.example\",\n\"b.example\"\n}", Options{},
			"1 a.example||||\n2 b.example||||\nerror p.json, line 3 (byte 26): this is not JSON from here on: invalid character '}' after array element (expecting ',' or ']')\n"},
		{"cut off", "p.json", `{"listings":[{"url":"a.example"},{"url":"b.exam`, Options{},
			"1 a.example||||\nerror p.json, line 1 (byte 47): this is not JSON from here on: it ends too early\n"},
		{"cut off behind the list", "p.json", `{"listings":[{"url":"a.example"}],`, Options{},
			"1 a.example||||\nerror p.json, line 1 (byte 34): this is not JSON from here on: it ends too early\n"},
		{"a second document", "p.json", "[\"a.example\"]\n[\"b.example\"]", Options{},
			"1 a.example||||\nerror p.json, line 2 (byte 15): there is another value behind the document; if each line is a value of its own, say --list-format ndjson\n"},
		{"escapes", "-", `["\u0061.example\u200b","b.example/\ud83d\udea2"]`, Options{},
			"1 a.example|||| (invisible characters around the URL were removed)\n2 b.example/%F0%9F%9A%A2||||\n"},
		{"bytes that are not UTF-8", "-", "[\"f\xe4hre.example\",{\"url\":\"a.example\",\"name\":\"F\xe4hre\"}]", Options{},
			"1 \"f\ufffdhre.example\" ! the site is not usable: it has bytes that are not UTF-8; save the list as UTF-8\n2 a.example||F\ufffdhre||\n"},
	})
}

func TestNDJSON(t *testing.T) {
	run(t, []listCase{
		{"known by its content", "-", "{\"url\":\"a.example\"}\n\n{\"url\":\"b.example/\\\"}\"}\r\n\"c.example\"\n", Options{},
			"1 a.example||||\n3 b.example/%22%7D||||\n4 c.example||||\n"},
		{"known by its name", "l.ndjson", `{"url":"a.example"}`, Options{}, "1 a.example||||\n"},
		{"texts", "-", "\"a.example\"\n\"b.example\"\n", Options{}, "1 a.example||||\n2 b.example||||\n"},
		{"broken lines", "-", "{\"url\":\"a.example\"}\n{\"url\":\n{\"url\":\"b.example\"} x\n{\"url\":\"c.example\"}\n[]\n", Options{},
			"1 a.example||||\n2 \"{\\\"url\\\":\" ! this is not JSON: it ends too early\n3 \"{\\\"url\\\":\\\"b.example\\\"} x\" ! this is not JSON: there is more behind the value\n4 c.example||||\n" +
				"5 \"[]\" ! this is a list, neither a text nor an object with the site in it\n"},
	})
}

func TestSitemap(t *testing.T) {
	run(t, []listCase{
		{"a sitemap", "-", `<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="x"><url><loc> https://a.example/ </loc>
			<image:image><image:loc>https://img.example/</image:loc></image:image></url><url><lastmod>2026</lastmod></url><url><loc>https://b.example/&amp;</loc></url></urlset>`, Options{},
			"1 a.example||||\n2 \"\" ! the element has no <loc>\n3 b.example/&||||\n"},
		{"other XML", "x.xml", `<feed><url/></feed>`, Options{}, "error x.xml, line 1 (byte 6): this is no sitemap: its root element is <feed>, not <urlset> or <sitemapindex>\n"},
		{"a web page", "x", "<!DOCTYPE html><html>", Options{}, "error x: this is a web page, not a list; give its sites as text, CSV, JSON or a sitemap\n"},
		{"cut off", "x.xml", "<urlset>\n<url><loc>https://a.example/</loc></url>\n<url><lo", Options{},
			"1 a.example||||\nerror x.xml, line 3 (byte 58): this is not XML from here on: unexpected EOF\n"},
		{"an index from nowhere", "-", `<sitemapindex><sitemap><loc>a.xml</loc></sitemap></sitemapindex>`, Options{},
			"1 \"a.xml\" ! the list does not come from a file, so other files cannot be read beside it\n"},
	})
}

func TestSitemapIndex(t *testing.T) {
	files := map[string]string{
		"a.xml":      "<urlset><url><loc>https://a.example/</loc></url><url><loc>x y</loc></url></urlset>",
		"sub/b.xml":  zipped("<urlset><url><loc>https://b.example/</loc></url></urlset>"),
		"cut.xml":    "<urlset><url><loc>https://c.example/</loc></url>",
		"index2.xml": "<sitemapindex><sitemap><loc>a.xml</loc></sitemap></sitemapindex>",
	}
	src := Source{Name: "index.xml", Open: func(name string) (io.ReadCloser, error) {
		if text, ok := files[name]; ok {
			return io.NopCloser(strings.NewReader(text)), nil
		}
		return nil, fs.ErrNotExist
	}}
	var b strings.Builder
	b.WriteString("<sitemapindex>")
	for _, loc := range []string{"a.xml", "https://x.example/sitemap.xml", "../a.xml", "/a.xml", "none.xml", "sub/b.xml", "cut.xml", "index2.xml"} {
		b.WriteString("<sitemap><loc>" + loc + "</loc></sitemap>")
	}
	b.WriteString("</sitemapindex>")
	src.Reader = strings.NewReader(b.String())
	want := `a.xml 1 a.example||||
a.xml 2 "x y" ! the site is not usable: this is not a URL
2 "https://x.example/sitemap.xml" ! sitemaps elsewhere are not fetched; save the file beside the index and let the index name it
3 "../a.xml" ! only files beside the index or below it are read
4 "/a.xml" ! only files beside the index or below it are read
5 "none.xml" ! there is no such file beside the index
sub/b.xml 1 b.example||||
cut.xml 1 c.example||||
7 "cut.xml" ! the file could not be read to the end: cut.xml, line 1 (byte 48): this is not XML from here on: unexpected EOF
index2.xml 1 "a.xml" ! an index within an index is not followed
`
	if got := showSource(t, src, Options{}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func zipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

func wide(s string, little bool) string {
	var b []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + s)) {
		if little {
			b = append(b, byte(u), byte(u>>8))
		} else {
			b = append(b, byte(u>>8), byte(u))
		}
	}
	return string(b)
}

func TestEncodings(t *testing.T) {
	const csv = "url;label\r\na.example;Fähre 🚢\r\n"
	const want = "2 a.example||Fähre 🚢||\n"
	for about, text := range map[string]string{
		"UTF-8": csv, "UTF-8 with a mark": "\ufeff" + csv, "UTF-16LE": wide(csv, true), "UTF-16BE": wide(csv, false),
		"gzip": zipped(csv), "gzip with a mark": zipped("\ufeff" + csv), "gzip of UTF-16": zipped(wide(csv, true)), "two gzip parts": zipped(csv[:15]) + zipped(csv[15:]),
	} {
		if got := show(t, "l.csv.gz", text, Options{}); got != want {
			t.Errorf("%s: %s", about, got)
		}
	}
	if got := show(t, "-", wide(`<?xml version="1.0" encoding="UTF-16"?><urlset><url><loc>https://a.example/</loc></url></urlset>`, true), Options{}); got != "1 a.example||||\n" {
		t.Errorf("XML in UTF-16: %s", got)
	}
	if got := show(t, "-", "<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc>https://f\xe4hre.example/</loc></url></urlset>", Options{}); got != "1 xn--fhre-loa.example||||\n" {
		t.Errorf("XML in Latin 1: %s", got)
	}
}

func TestWhatIsNoList(t *testing.T) {
	long := zipped("a.example\n" + strings.Repeat("b.example\n", 20000))
	for _, c := range []struct{ about, text, want string }{
		{"UTF-16 without a mark", wide("a.example\n", true)[2:], "this is no text: it has NUL bytes"},
		{"a spreadsheet", "PK\x03\x04\x14\x00", "a spreadsheet's own format; save the list as CSV"},
		{"gzip, cut off", long[:len(long)-9], "the compressed data ends too early"},
		{"gzip, damaged", long[:len(long)-8] + "\x00\x00\x00\x00" + long[len(long)-4:], "the compressed data is damaged"},
		{"a form that is unknown", "a.example", `there is no form of lists named "yaml"; the forms are text, csv, json, ndjson, sitemap`},
	} {
		opt := Options{}
		if c.about == "a form that is unknown" {
			opt.Format = "yaml"
		}
		n := 0
		var last error
		for _, err := range Read(t.Context(), Source{Name: "l", Reader: strings.NewReader(c.text)}, opt) {
			if last = err; err == nil {
				n++
			}
		}
		if last == nil || !strings.Contains(last.Error(), c.want) {
			t.Errorf("%s: %v after %d lines", c.about, last, n)
		}
		if strings.HasPrefix(c.about, "gzip, cut") && n < 1000 {
			t.Errorf("%s: only %d lines before the error", c.about, n)
		}
	}
}

func TestStopping(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	endless := io.MultiReader(strings.NewReader("a.example\n"), times("b.example\n", 1<<40))
	n := 0
	var last error
	for _, err := range Read(ctx, Source{Reader: endless}, Options{}) {
		if last = err; err == nil {
			if n++; n == 1000 {
				cancel()
			}
		}
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("after a cancelled context: %v", last)
	}
	for _, text := range []string{"a.example\nb.example", "url\na.example\nb.example", `["a.example","b.example"]`, "\"a.example\"\n\"b.example\"", "<urlset><url><loc>https://a.example/</loc></url><url/></urlset>"} {
		n := 0
		for range Read(t.Context(), Source{Reader: strings.NewReader(text)}, Options{}) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%q: %d lines", text, n)
		}
	}
}

// What came over the network is bounded behind its compression, too.
func TestListsThatAreLongerThanTheyMayBe(t *testing.T) {
	packed := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(text)); err != nil || z.Close() != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, c := range []struct {
		about, text, want string
		bytes, lines      int64
	}{
		{"blank lines", strings.Repeat("\n", 101), "error l, line 101: the list has more than 100 lines, blank ones included\n", 0, 100},
		{"as many as may be", "a.example" + strings.Repeat("\n", 100), "1 a.example||||\n", 0, 100},
		{"unpacked", packed(strings.Repeat("\n", 101)), "error l, line 101 (byte 100): the list is too long: it has more than 100 bytes when it is unpacked\n", 100, 0},
		{"unpacked, as large as may be", packed(strings.Repeat("\n", 91) + "a.example"), "92 a.example||||\n", 100, 0},
		{"unpacked JSON", packed("[" + strings.Repeat(" ", 1<<20) + `"a.example"]`), "error l, line 1 (byte 1000000): the list is too long: it has more than 1000000 bytes when it is unpacked\n", 1e6, 0},
	} {
		src := Source{Name: "l", Reader: strings.NewReader(c.text), MaxBytes: c.bytes, MaxLines: c.lines}
		if got := showSource(t, src, Options{}); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.about, got, c.want)
		}
		for _, err := range Read(t.Context(), Source{Name: "l", Reader: strings.NewReader(c.text), MaxBytes: c.bytes, MaxLines: c.lines}, Options{}) {
			if err != nil && !errors.Is(err, ErrTooLong) {
				t.Errorf("%s: %v does not say that it is too long", c.about, err)
			}
		}
	}
}

func TestReadArgs(t *testing.T) {
	n := 0
	for l, err := range ReadArgs([]string{"a.example", "http://b.example"}) {
		n++
		if err != nil || l.Number != int64(n) || (l.Reject == "") != (n == 1) {
			t.Errorf("%+v, %v", l, err)
		}
	}
	if n != 2 {
		t.Errorf("%d lines", n)
	}
}
