package dashboard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"time"

	"agentaudit/audit/report"
	"agentaudit/fetch/weburl"
	"agentaudit/store"
)

// badgeLife is how long a verdict counts: older ones are grey.
const badgeLife = 30 * 24 * time.Hour

// Badge is what a badge says of a site.
type Badge struct {
	// Message is the outcome with its day, or what there is instead.
	Message string
	Outcome report.Outcome
	// Stale says that there is no verdict, or an old one.
	Stale bool
}

// badge is what is known of a site. A site that nobody has audited looks like
// one without a verdict: badges do not tell who is in a list.
func (s *Server) badge(ctx context.Context, target string) (Badge, error) {
	u, err := weburl.ParseTarget(target)
	if err != nil {
		return Badge{}, &HTTPError{Code: http.StatusBadRequest, Title: "This is no site", Message: sentence(err.Error()), Advice: "Ask with target=shop.example."}
	}
	v, err := s.c.Store.Site(ctx, u.String())
	if errors.Is(err, store.ErrNotFound) || err == nil && v.Outcome == report.OutcomeUnchecked {
		return Badge{"unchecked", report.OutcomeUnchecked, true}, nil
	}
	if err != nil {
		return Badge{}, err
	}
	return Badge{string(v.Outcome) + " " + v.CheckedAt.UTC().Format("2 Jan 2006"), v.Outcome, s.c.Now().Sub(v.CheckedAt) > badgeLife}, nil
}

// badgeColors keep 4.5:1 with white, and have a name at shields.io.
var badgeColors = map[report.Outcome][2]string{
	report.OutcomeSuccessful: {"#12633f", "brightgreen"},
	report.OutcomePartial:    {"#7a4d00", "yellow"},
	report.OutcomeFailed:     {"#a82020", "red"},
}

func (b Badge) colors() [2]string {
	if c, ok := badgeColors[b.Outcome]; ok && !b.Stale {
		return c
	}
	return [2]string{"#566071", "lightgrey"}
}

const badgeLabel = "agentic"

// SVG draws the badge.
func (b Badge) SVG() string {
	const letter, pad = 6.6, 7 // of 11 px text, on average; textLength makes it exact
	left, right := letter*float64(len(badgeLabel)), letter*float64(len(b.Message))
	w1, w2 := left+2*pad, right+2*pad
	title := html.EscapeString(badgeLabel + ": " + b.Message)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="20" viewBox="0 0 %.1f 20" role="img" aria-label="%s"><title>%s</title>`+
		`<rect width="%.1f" height="20" rx="3" fill="%s"/><path d="M3 0h%.1fv20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#33393f"/>`+
		`<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"><text x="%d" y="14" textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>`+
		`<text x="%.1f" y="14" textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text></g></svg>`,
		w1+w2, w1+w2, title, title, w1+w2, b.colors()[0], w1-3, pad, left, badgeLabel, w1+pad, right, html.EscapeString(b.Message))
}

// serveBadge serves a badge in one of its forms to all who come: it says only
// what whoever audits the site finds out, and stays as it is for five minutes.
func (s *Server) serveBadge(mediaType string, form func(Badge) ([]byte, error)) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if s.c.NoBadges {
			return noPage()
		}
		q := s.request(r)
		if err := q.Only("target"); err != nil {
			return err
		}
		b, err := s.badge(r.Context(), q.Query.Get("target"))
		if err != nil {
			return err
		}
		data, err := form(b)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		h := w.Header()
		h.Set("Content-Type", mediaType)
		h.Set("Cache-Control", "public, max-age=300")
		h.Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
		// Pages of others show it: that is what it is for.
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		h.Set("Access-Control-Allow-Origin", "*")
		if noneMatches(r.Header.Values("If-None-Match"), h.Get("ETag")) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		_, _ = w.Write(data)
		return nil
	}
}

var entityTag = regexp.MustCompile(`^[ \t,]*(?:W/)?("[\x21\x23-\x7E\x80-\xFF]*")[ \t]*(?:,|$)`)

// noneMatches reports whether the reader has what is served: one of the tags of
// If-None-Match is the same, by weak comparison (RFC 9110, section 13.1.2), for
// a proxy that compresses makes tags weak.
func noneMatches(header []string, tag string) bool {
	list := strings.Join(header, ",")
	if strings.TrimSpace(list) == "*" {
		return true
	}
	for {
		m := entityTag.FindStringSubmatch(list)
		if m == nil {
			return false
		}
		if m[1] == strings.TrimPrefix(tag, "W/") {
			return true
		}
		list = list[len(m[0]):]
	}
}

func badgeSVG(b Badge) ([]byte, error) { return []byte(b.SVG()), nil }

// badgeJSON is what endpoint badges of shields.io read.
func badgeJSON(b Badge) ([]byte, error) {
	return json.Marshal(struct {
		SchemaVersion int    `json:"schemaVersion"`
		Label         string `json:"label"`
		Message       string `json:"message"`
		Color         string `json:"color"`
		CacheSeconds  int    `json:"cacheSeconds"`
	}{1, badgeLabel, b.Message, b.colors()[1], 300})
}
