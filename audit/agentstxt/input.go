package agentstxt

import (
	"net/http"
	"strings"
	"time"

	"agentaudit/audit/report"
	"agentaudit/fetch/weburl"
)

// The places of the two files (section 1). The well-known one comes first.
const (
	TextPath     = "/.well-known/agents.txt"
	TextRootPath = "/agents.txt"
	JSONPath     = "/.well-known/agents.json"
	JSONRootPath = "/agents.json"
)

// Reply is what one request brought: an answer, redirects included, or none.
type Reply struct {
	// URL is what was asked for, absolute.
	URL    string
	Status int // 0 where no answer came
	Header http.Header
	Body   []byte
	// Kind is a word for why there is no answer or no body, "" where all is
	// well: "timeout", "dns", "too-large" and so on. Message is a sentence.
	Kind, Message string
	// Bytes counts the body where Body does not hold it.
	Bytes int64
	// Evidence is what the read left behind, for the record; not judged.
	Evidence report.Evidence
}

// The kinds that mean more than that no answer came: the body passed the
// limit, or our own policy forbids the address. The words are package fetch's.
const (
	kindTooLarge = "too-large"
	kindRefused  = "refused"
)

// Input is all that [Judge] looks at.
type Input struct {
	// Origin is the site, as in "https://shop.example".
	Origin string
	// Now is the clock.
	Now time.Time
	// Strict makes a missing charset of the text and unknown parameter types
	// fail.
	Strict bool
	// Replies are the answers in the order of the requests. What is not in
	// here was not asked for.
	Replies []Reply
}

// state says what came of the request for a place.
type state int

const (
	notAsked state = iota
	absent
	present
	unchecked
	tooLarge
)

// got is the answer for a place after redirects.
type got struct {
	state state
	reply *Reply
	url   string
	hops  []hop
	why   string // in words, where the state is not present
}

// maxHops is how many redirects are followed for one place.
const maxHops = 5

// replies finds answers by URL.
type replies map[string]*Reply

func indexReplies(list []Reply) replies {
	m := make(replies, len(list))
	for i := range list {
		if k := location(list[i].URL); m[k] == nil {
			m[k] = &list[i]
		}
	}
	return m
}

// location is a URL as it is compared: in its normal form without fragment.
func location(raw string) string {
	if u, err := weburl.Parse(raw); err == nil {
		return u.Location()
	}
	return raw
}

// follow looks up the answer for a URL, through redirects.
func (m replies) follow(raw string) got {
	g := got{url: raw}
	seen := map[string]bool{}
	for {
		key := location(g.url)
		r := m[key]
		switch {
		case r == nil:
			g.state, g.why = notAsked, "it was not asked for"
			return g
		case seen[key] || len(g.hops) > maxHops:
			g.reply, g.state, g.why = r, absent, "the redirects lead in a circle or too far"
			return g
		}
		seen[key] = true
		g.reply = r
		next, ok := redirectTarget(r)
		if !ok && len(g.hops) > 0 && r.Kind == kindRefused {
			// A definite answer: nobody is led there, to plain http for one.
			g.state, g.why = absent, "it leads to an address that is not read: "+r.Message
			return g
		}
		if !ok {
			g.state, g.why = replyState(r)
			return g
		}
		from, okFrom := parseLink(g.url)
		to, okTo := parseLink(next)
		if !okFrom || !okTo {
			g.state, g.why = absent, "it is redirected to something that is no web address"
			return g
		}
		g.hops = append(g.hops, hop{from, to})
		g.url = next
	}
}

// redirectTarget is where a reply sends its reader.
func redirectTarget(r *Reply) (string, bool) {
	switch r.Status {
	case 301, 302, 303, 307, 308:
	default:
		return "", false
	}
	target := strings.TrimSpace(r.Header.Get("Location"))
	base, err := weburl.Parse(r.URL)
	if target == "" || err != nil {
		return "", false
	}
	u, err := base.Resolve(target)
	if err != nil {
		return "", false
	}
	return u.String(), true
}

// replyState tells definite answers from passing trouble (section 10,
// reading 13).
func replyState(r *Reply) (state, string) {
	switch {
	case r.Kind == kindTooLarge || len(r.Body) > MaxBody:
		return tooLarge, "it is larger than 1 MiB"
	case r.Kind != "" && r.Message != "":
		return unchecked, r.Message
	case r.Kind != "":
		return unchecked, r.Kind
	case r.Header.Get("Cf-Mitigated") != "":
		return unchecked, "a bot wall answered"
	case r.Status == 200, r.Status == 203:
		return present, ""
	case r.Status == 401, r.Status == 403, r.Status == 407, r.Status == 408, r.Status == 425, r.Status == 429, r.Status == 451, r.Status >= 500:
		return unchecked, "the answer was status " + itoa(r.Status)
	}
	return absent, "the answer was status " + itoa(r.Status)
}
