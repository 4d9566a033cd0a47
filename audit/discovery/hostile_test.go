package discovery

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
)

func mustURL(t testing.TB, raw string) *weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// hostile are pages that make naive readers slow, by the unit they repeat.
var hostile = map[string]string{
	"anchors":          `<a href="/docs/a">x</a>`,
	"open anchors":     `<a href="/docs/a">`,
	"late anchors":     `<a title="`,
	"open tags":        `<div><p><b>`,
	"nested tables":    `<table><tr><td>`,
	"nested svg":       `<svg><title>x`,
	"templates":        `<template>`,
	"less-than":        `<`,
	"less-than letter": `<a`,
	"comments":         `<!--`,
	"comment ends":     `<!-->`,
	"scripts":          `<script>`,
	"script states":    `<script><!--<script>`,
	"titles":           `<title>`,
	"attributes":       ` a="b" href=c`,
	"attribute tag":    `<a b c d e f g h`,
	"links":            `](`,
	"open links":       `[a](`,
	"link starts":      `[](xxxx`,
	"brackets":         `[`,
	"blocks of links":  `<p>](`,
	"images":           `![a`,
	"backticks":        "`a``b",
	"emphasis":         `*a_`,
	"quotes":           `> `,
	"list":             `1) `,
	"schemes":          `https://`,
	"bare URLs":        `https://h.example/docs/a `,
	"round brackets":   `https://h.example/(`,
	"entities":         `&amp;`,
	"bad entities":     `&#x`,
	"ampersands":       `&`,
	"at signs":         `https://a@`,
	"lines":            "\n",
	"definitions":      "[a]: b\n",
	"bases":            `<base href="/a/">`,
	"metas":            `<meta name=description content="<">`,
	"JSON lists":       `["](",`,
	"NUL":              "\x00",
	"invalid":          "\xff",
}

func page1MiB(unit string) string { return strings.Repeat(unit, MaxDocument/len(unit)) }

// heads make a page HTML, Markdown, JSON or a tag that never ends.
var heads = map[string]string{"html": "<html>", "text": "text ", "json": `{"a": "`, "tag": "<a href=/docs/a "}

func contentOf(t testing.TB, body string) *content {
	return newContent(mustURL(t, "https://site.example/"), &fetch.Response{Body: []byte(body)})
}

// TestHostile reads a mebibyte of every kind in every disguise. That the time
// is linear is shown by BenchmarkHostile; this test ends within the limit of
// the test run only because it is.
func TestHostile(t *testing.T) {
	for name, unit := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, head := range heads {
				body := page1MiB(unit)
				if head != heads["html"] {
					body = body[:len(body)/16]
				}
				checkPage(t, contentOf(t, head+body).page())
			}
		})
	}
}

func checkPage(t testing.TB, p *page) {
	if len(p.links) > maxLinks {
		t.Errorf("%d links", len(p.links))
	}
	texts := []string{p.title, p.description}
	for _, l := range p.links {
		texts = append(texts, l.title)
	}
	for _, s := range texts {
		if utf8.RuneCountInString(s) > descriptionLimit || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && isBlank(r) }) {
			t.Errorf("text %q is not clean", s)
		}
	}
}

// BenchmarkHostile shows the cost by size: it must grow as the size does.
func BenchmarkHostile(b *testing.B) {
	for name, unit := range hostile {
		for _, size := range []int{MaxDocument / 4, MaxDocument} {
			body := "<html>" + strings.Repeat(unit, size/len(unit))
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				for b.Loop() {
					contentOf(b, body).page()
				}
			})
		}
	}
}

func FuzzPage(f *testing.F) {
	for _, unit := range hostile {
		for _, head := range heads {
			f.Add(head + unit + unit)
		}
	}
	f.Add(`<base href="/x/"><title>A | B</title><a href="y" title=T>t</a><p>[z](z "t") https://h.example/docs.`)
	f.Fuzz(func(t *testing.T, body string) {
		c := contentOf(t, body)
		p := c.page()
		checkPage(t, p)
		if p.base.Origin() != c.at.Origin() {
			t.Errorf("base %s left the origin", p.base)
		}
		for _, l := range headerLinks([]string{body}) {
			if strings.Contains(l, ">") {
				t.Errorf("link target %q", l)
			}
		}
		clean(body, 160)
	})
}
