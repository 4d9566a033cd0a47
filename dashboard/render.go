package dashboard

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
)

//go:embed templates
var templateFiles embed.FS

// Frame is what all pages have around them.
type Frame struct {
	// Title is the heading of the page and its name in the browser.
	Title string
	// Section is the item of the menu that the page belongs to.
	Section string
	Links   Links
	// AsOf is the moment for which all numbers of the page hold.
	AsOf    time.Time
	Version string
	// Who reads it. Bare leaves the menu out, for those who may not use it.
	Who  Who
	Bare bool
	// Origin is how the world calls this host, as in https://audit.example.
	Origin string
	// Badges says that badges are served.
	Badges bool
	// Shared is the path of a page that is shared by a link, "" for others;
	// SharedUntil is when that ends. Such a page leads nowhere else.
	Shared      string
	SharedUntil time.Time
	// CanWrite says that the reader can change things here.
	CanWrite bool
	// Notice is what the last action came to, "" for none.
	Notice string
	// Wrong is what was wrong with the form that the reader sent, nil for nothing.
	Wrong *Wrong
	// Lookup is what was typed to find a site and found none.
	Lookup string
	// Serving says that workers are reached from here, so that lists are handed to
	// them.
	Serving bool
	// Live says that numbers of the page are kept up to date.
	Live bool

	Style, Script, Icon string
}

func (f *Frame) frame() *Frame { return f }

// dress fills in what is the same for all pages.
func (s *Server) dress(f *Frame, r *Request) {
	f.Links, f.AsOf, f.Version = s.links, r.Now, s.c.Version
	f.Title, f.Serving = inLine(f.Title), s.c.Queue != nil
	f.Origin, f.Badges = r.Origin, !s.c.NoBadges
	f.Who, f.CanWrite = r.Who, r.Who.Write && s.c.Write != nil
	f.Style, f.Script, f.Icon = s.links.base+s.assets.path("style.css"), s.links.base+s.assets.path("live.js"), s.links.base+s.assets.path("icon.svg")
}

// parseTemplates makes one template for each page: the layout and the shared
// parts, with the page's own definitions in it.
func parseTemplates() (map[string]*template.Template, error) {
	shared, err := template.New("layout.tmpl").Funcs(functions).ParseFS(templateFiles, "templates/shared/*.tmpl")
	if err != nil {
		return nil, err
	}
	files, err := fs.Glob(templateFiles, "templates/*.tmpl")
	if err != nil {
		return nil, err
	}
	pages := map[string]*template.Template{}
	for _, f := range files {
		t, err := shared.Clone()
		if err != nil {
			return nil, err
		}
		if t, err = t.ParseFS(templateFiles, f); err != nil {
			return nil, err
		}
		pages[strings.TrimSuffix(path.Base(f), ".tmpl")] = t
	}
	return pages, nil
}

// render executes the template of a page into memory: a page that fails half
// way is not sent.
func (s *Server) render(name string, p any) ([]byte, error) {
	t := s.pages[name]
	if t == nil {
		return nil, fmt.Errorf("there is no template %s", name)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "layout.tmpl", p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// functions are what templates can call beside the methods of their structs.
var functions = template.FuncMap{
	"number": number, "share": share, "plural": plural, "span": span, "size": size, "webAddress": webAddress, "pieces": pieces, "discoverWord": discoverWord, "inLine": inLine, "siteName": siteName, "shortCheck": shortCheck,
	"outcomeWord": func(o report.Outcome) string { return outcomeWords[o] },
	"reasonWord":  report.Reason.Words,
	"checkWord":   report.CheckWords,
	"stateWord":   func(s store.BatchState) string { return stateWords[s] },
	"changeName":  func(c store.Change) string { return changeWords[c][0] },
	"changeWord":  func(c store.Change) string { return changeWords[c][1] },
	// instant is a moment for machines, clock for people, who see it in UTC
	// until the script puts it into their zone.
	"instant": moment,
	"clock":   func(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04 UTC") },
	"int64":   func(n int) int64 { return int64(n) },
}
