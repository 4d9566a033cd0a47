package sitelist

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
)

// maxXMLDepth bounds what the decoder keeps of open elements.
const maxXMLDepth = 64

// sitemap reads one sitemap or sitemap index (sitemaps.org).
type sitemap struct {
	ctx  context.Context
	in   *input
	feed *feed
	dec  *xml.Decoder
	to   sink
	// open is nil where no other files may be read, as within an index.
	open func(name string) (io.ReadCloser, error)
	// file is the name of a file that an index named.
	file   string
	number int64
}

// readSitemap reads the <loc> of every <url>. What a <sitemapindex> names is
// read where it is a local file.
func readSitemap(ctx context.Context, in *input, open func(string) (io.ReadCloser, error), to sink) error {
	s := &sitemap{ctx: ctx, in: in, to: to, open: open}
	return s.read()
}

func (s *sitemap) read() error {
	s.feed = newFeed(s.in, "an element")
	s.dec = xml.NewDecoder(s.feed)
	s.dec.CharsetReader = func(label string, r io.Reader) (io.Reader, error) {
		if strings.HasPrefix(strings.ToLower(label), "utf-16") {
			return r, nil // it was decoded by its byte order mark
		}
		enc, err := htmlindex.Get(label)
		if err != nil {
			return nil, err
		}
		return enc.NewDecoder().Reader(r), nil
	}
	var path []string
	var loc strings.Builder
	located, rooted := false, false
	for {
		s.feed.done(s.dec.InputOffset())
		token, err := s.dec.Token()
		if err == io.EOF && rooted {
			return nil
		}
		if err != nil {
			return s.feed.fail(s.dec.InputOffset(), err, "this is not XML from here on: %s", xmlTrouble(err))
		}
		switch t := token.(type) {
		case xml.StartElement:
			path = append(path, t.Name.Local)
			rooted = true
			if len(path) == 1 && path[0] != "urlset" && path[0] != "sitemapindex" {
				return s.feed.fail(s.dec.InputOffset(), nil, "this is no sitemap: its root element is <%s>, not <urlset> or <sitemapindex>", cut(path[0], 80))
			}
			if len(path) > maxXMLDepth {
				return s.feed.fail(s.dec.InputOffset(), nil, "the elements are nested deeper than %d levels", maxXMLDepth)
			}
			if len(path) == 2 {
				loc.Reset()
				located = false
			}
		case xml.CharData:
			if len(path) == 3 && path[2] == "loc" {
				located = true
				loc.Write(t)
				if loc.Len() > MaxElement {
					return s.feed.fail(s.dec.InputOffset(), nil, "a <loc> is larger than %d bytes", MaxElement)
				}
			}
		case xml.EndElement:
			if len(path) == 2 && (path[1] == "url" || path[1] == "sitemap") {
				s.number++
				if err := s.element(path[0], strings.TrimSpace(loc.String()), located); err != nil {
					return err
				}
			}
			path = path[:len(path)-1]
		}
	}
}

func xmlTrouble(err error) string {
	var syntax *xml.SyntaxError
	if err == io.EOF {
		return "there is no element at all"
	}
	if errors.As(err, &syntax) {
		return syntax.Msg
	}
	return err.Error()
}

// element handles one <url> or <sitemap>.
func (s *sitemap) element(root, loc string, located bool) error {
	var l Line
	switch {
	case !located:
		l = rejectLine(s.number, loc, "the element has no <loc>")
	case root == "urlset":
		l = makeLine(s.number, entry{site: loc})
	default:
		reason, err := s.follow(loc)
		if reason == "" || err != nil {
			return err
		}
		l = rejectLine(s.number, loc, "%s", reason)
	}
	l.File = s.file
	if !s.to(l) {
		return errStop
	}
	return nil
}

// follow reads a sitemap that an index names. reason is why that could not be
// done, or not to the end; err ends the whole list.
func (s *sitemap) follow(name string) (reason string, err error) {
	switch {
	case strings.Contains(name, "://"):
		return "sitemaps elsewhere are not fetched; save the file beside the index and let the index name it", nil
	case s.file != "":
		return "an index within an index is not followed", nil
	case s.open == nil:
		return "the list does not come from a file, so other files cannot be read beside it", nil
	case !filepath.IsLocal(filepath.FromSlash(name)):
		return "only files beside the index or below it are read", nil
	}
	f, err := s.open(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "there is no such file beside the index", nil
		}
		return "the file could not be opened: " + err.Error(), nil
	}
	defer f.Close()
	in, err := open(s.ctx, Source{Name: name, Reader: f})
	if err == nil {
		err = (&sitemap{ctx: s.ctx, in: in, to: s.to, file: name}).read()
	}
	var broken *Error
	if errors.As(err, &broken) {
		return "the file could not be read to the end: " + broken.Error(), nil
	}
	return "", err
}
