package listing

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"agentaudit/fetch/weburl"
)

// position is where a reading stands: all that is needed to go on. It is kept
// with the batch as JSON.
type position struct {
	Shape Shape `json:"shape"`
	// Kind, Param and Value name the next page, URL is its address; "" is the
	// first page.
	Kind  Kind   `json:"kind"`
	Param string `json:"param,omitempty"`
	Value string `json:"value,omitempty"`
	URL   string `json:"url,omitempty"`
	// At is the offset that was asked for last.
	At int64 `json:"at,omitempty"`
	// Pages counts the pages read, Read their listings, Fresh those of them that
	// were taken.
	Pages int64 `json:"pages"`
	Read  int64 `json:"read"`
	Fresh int64 `json:"fresh"`
	// Stale counts the last pages that brought nothing new.
	Stale int `json:"stale,omitempty"`
	// First is a hash over the first page, Size the number of its listings.
	First string `json:"first,omitempty"`
	Size  int    `json:"size,omitempty"`
	// Again is how many listings were known when the reading began once more:
	// so many can come without anything new.
	Again int64 `json:"again,omitempty"`
	// Back says that listings were taken away before the offset, and that the
	// trail is being looked for; Ahead is where to go on when it is found.
	Back  bool   `json:"back,omitempty"`
	Ahead string `json:"ahead,omitempty"`
	// Total is what the API says, 0 for nothing.
	Total int64 `json:"total,omitempty"`
	Done  bool  `json:"done,omitempty"`
	// Note says what was odd at the end.
	Note string `json:"note,omitempty"`
}

// maxStale is how many pages in a row without anything new are the end.
const maxStale = 3

// page is one page as it was read.
type page struct {
	count int
	// sum is a hash over the keys of its listings, in their order.
	sum  string
	step step
}

func sumOf(keys []string) string {
	h := sha256.Sum256([]byte(strings.Join(keys, "\x00")))
	return hex.EncodeToString(h[:8])
}

// address is where the next page is. With offsets it overlaps the one before
// by a listing.
func (p position) address(source *weburl.URL) (*weburl.URL, int64, error) {
	switch {
	case p.URL != "":
		u, err := weburl.Parse(p.URL)
		return u, 0, err
	case p.Kind == Single:
		return source, offsetOf(source), nil
	case p.Kind != Offset:
		u, err := withParam(source, p.Param, p.Value)
		return u, 0, err
	}
	at, err := strconv.ParseInt(p.Value, 10, 64)
	if err != nil {
		return nil, 0, err
	}
	if p.Size > 1 && at > offsetOf(source) && !p.Back {
		at--
	}
	u, err := withParam(source, p.Param, strconv.FormatInt(at, 10))
	return u, at, err
}

// errFirstAgain says that the API does not page by what it names.
type errFirstAgain struct{ param, value string }

func (e *errFirstAgain) Error() string {
	return fmt.Sprintf("asked for %s=%s, it answers with its first page again, so that the others cannot be read; save its pages to files and give these", e.param, e.value)
}

// after is the position behind a page that was asked for at an offset; known
// says which of its listings are known already.
func (p position) after(g page, at int64, known []bool) (position, error) {
	n := p
	fresh := 0
	for _, k := range known {
		if !k {
			fresh++
		}
	}
	n.Pages++
	n.Read += int64(g.count)
	n.Fresh += int64(fresh)
	n.Stale++
	if fresh > 0 || n.Again > 0 && n.Read <= n.Again {
		n.Stale = 0
	}
	if g.step.total > 0 {
		n.Total = g.step.total
	}
	if p.Pages == 0 {
		n.First, n.Size = g.sum, g.count
	}
	// Without a known listing an overlapping page has lost the trail.
	if p.Kind == Offset && at > 0 && g.count > 0 && fresh == g.count && p.Size > 1 {
		if !p.Back {
			n.Ahead = g.step.value
		}
		n.Back = true
		n.Value = strconv.FormatInt(max(0, at-int64(p.Size)), 10)
		return n, nil
	}
	s := g.step
	if p.Back {
		// All between here and there has been read on the way back.
		n.Back, n.Ahead = false, ""
		if p.Ahead == "" {
			return n.end(""), nil
		}
		n.Value = p.Ahead
		return n, nil
	}
	if s.kind == Single {
		return n.end(""), nil
	}
	complete := n.Total > 0 && n.Fresh >= n.Total
	switch {
	case s.kind == Offset:
		to, _ := strconv.ParseInt(s.value, 10, 64)
		if to <= at+1 && p.Size > 1 || to <= at {
			return n.end("the offset does not grow any more; this was taken for the end"), nil
		}
	case fresh == 0 && s.kind == p.Kind && s.value == p.Value && p.URL == urlText(s.url):
		return n.end("the next page is the same again; this was taken for the end"), nil
	}
	if p.Pages == 1 && g.sum == p.First && g.count > 0 && !complete {
		return n, &errFirstAgain{cmp.Or(p.Param, "the next page"), cmp.Or(p.Value, p.URL)}
	}
	if n.Stale >= maxStale || complete && fresh == 0 {
		return n.end("its pages bring nothing new any more; this was taken for the end"), nil
	}
	n.Kind, n.Param, n.Value, n.URL = s.kind, s.param, s.value, urlText(s.url)
	return n, nil
}

func urlText(u *weburl.URL) string {
	if u == nil {
		return ""
	}
	return u.String()
}

// end is the position at the end.
func (p position) end(note string) position {
	p.Done, p.Note = true, note
	if p.Total > p.Fresh {
		p.Note = strings.TrimPrefix(p.Note+"; ", "; ") + fmt.Sprintf("the API speaks of %d listings, %d were found", p.Total, p.Fresh)
	}
	return p
}
