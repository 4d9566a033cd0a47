package agentstxt

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Credential is a hit of the search for credentials. It never holds what was
// found.
type Credential struct {
	// Kind is a name of section 7 A, or auth-value, closed-field,
	// url-parameter, named-value, entropy.
	Kind     string
	Severity Severity
}

// hit is a credential with its place.
type hit struct {
	Credential
	offset int    // in the source
	secret string // what must not be printed
	// companion: not reported by itself, only hidden, because it stands beside
	// a hit: the body of a private key, the secret behind a key id.
	companion bool
}

// Credentials are the credentials in a file of either form. now is the clock
// for tokens that say when they expire; the zero time takes none as expired.
func (d *Document) Credentials(now time.Time) []Credential {
	var out []Credential
	for _, h := range scanDocument(d, now) {
		if !h.companion {
			out = append(out, h.Credential)
		}
	}
	return out
}

// candidate is a range of a string that may be a credential.
type candidate struct {
	Credential
	span2
	priority int
}

// scanDocument looks for credentials everywhere (section 7): in the raw text,
// comments included, or in every string and member name of the JSON.
func scanDocument(d *Document, now time.Time) []hit {
	s := &scanner{doc: d, now: now}
	if d.Form == JSONForm && d.root != nil {
		s.tree(d.root, "", true)
	} else {
		text := d.src.text
		list := scanShapes(text, now)
		if d.Form == JSONForm {
			list = append(list, scanNamed(span{text: text})...)
		}
		for _, f := range d.freeText {
			list = append(list, scanNamed(f)...)
		}
		s.take(text, 0, list)
	}
	s.fields()
	return s.hits
}

type scanner struct {
	doc  *Document
	now  time.Time
	hits []hit
	// sorted are the hits in the text, by place.
	sorted []hit
}

// take keeps the candidates of one string that overlap no better one.
func (s *scanner) take(text string, offset int, list []candidate) {
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.from, b.from))
	})
	taken := make([]bool, len(text))
	var kept []candidate
	for _, c := range list {
		if slices.Contains(taken[c.from:c.to], true) {
			continue
		}
		for i := c.from; i < c.to; i++ {
			taken[i] = true
		}
		kept = append(kept, c)
	}
	slices.SortFunc(kept, func(a, b candidate) int { return cmp.Compare(a.from, b.from) })
	for _, c := range kept {
		at := offset
		if s.doc.Form == TextForm || s.doc.root == nil {
			at = c.from
		}
		s.hits = append(s.hits, hit{Credential: c.Credential, offset: at, secret: text[c.from:c.to]})
		for _, secret := range companions(c, text) {
			s.hits = append(s.hits, hit{Credential: c.Credential, offset: at, secret: secret, companion: true})
		}
	}
}

// structured are the members whose strings are no prose.
var structured = map[string]bool{
	"id": true, "endpoint": true, "protocol": true, "method": true, "type": true, "tokenEndpoint": true, "docsUrl": true,
	"scopes": true, "openapi": true, "url": true, "allow": true, "disallow": true, "capabilities": true,
}

// tree looks at every string and name of a JSON document.
func (s *scanner) tree(n *node, name string, prose bool) {
	switch {
	case n.is('"'):
		list := scanShapes(n.str, s.now)
		if prose {
			list = append(list, scanNamed(span{name: name, text: n.str})...)
		}
		s.take(n.str, n.offset, list)
	case n.is('['):
		for _, x := range n.items {
			s.tree(x, name, prose)
		}
	case n.is('{'):
		for _, m := range n.members {
			s.take(m.name, m.offset, scanShapes(m.name, s.now))
			s.tree(m.value, m.name, !structured[m.name])
		}
	}
}

// scanShapes finds the named shapes and the parameters of URLs.
func scanShapes(text string, now time.Time) []candidate {
	var out []candidate
	if len(text) < 8 {
		return nil
	}
	low := ""
	for i := range shapes {
		sh := &shapes[i]
		for _, prefix := range sh.prefixes {
			in := text
			if sh.kind == "authorization" {
				if low == "" {
					low = lowerASCII(text)
				}
				in = low
			}
			for at := 0; ; {
				j := strings.Index(in[at:], prefix)
				if j < 0 {
					break
				}
				at += j
				secret, ok := sh.at(text, at, prefix)
				if !ok {
					at += len(prefix)
					continue
				}
				severity := sh.severity
				if sh.kind == "jwt" && jwtExpired(text[secret.from:secret.to], now) {
					severity = Warn
				}
				out = append(out, candidate{Credential{sh.kind, severity}, secret, i})
				at = max(secret.to, at+1)
			}
		}
	}
	return append(out, scanParameters(text)...)
}

// lowerASCII keeps offsets, which strings.ToLower does not.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}

// at reports whether a credential of this shape stands where its prefix is.
func (sh *shape) at(s string, at int, prefix string) (span2, bool) {
	if isWordByte(prefix[0]) && at > 0 && isWordByte(s[at-1]) {
		return span2{}, false
	}
	if sh.whole != nil {
		secret, rest, ok := sh.whole(s, at, prefix)
		return secret, ok && (sh.kind == "private-key" || !isPlaceholder(s[rest.from:rest.to]))
	}
	from := at + len(prefix)
	end := sh.body.run(s, from)
	if end-from < sh.least {
		return span2{}, false
	}
	if sh.most > 0 {
		end = from + sh.most
	}
	if end < len(s) && isWordByte(s[end]) || isPlaceholder(s[from:end]) {
		return span2{}, false
	}
	return span2{at, end}, true
}

// parameterNames are the query parameters that carry credentials, without
// case and hyphens.
var parameterNames = map[string]bool{
	"key": true, "api_key": true, "apikey": true, "token": true, "access_token": true, "auth": true, "secret": true,
	"client_secret": true, "password": true, "passwd": true, "pwd": true, "sig": true, "signature": true,
}

// Priorities of the kinds of section 7 B, behind all shapes.
const (
	priorityParameter = 100 + iota
	priorityNamed
)

func scanParameters(s string) []candidate {
	var out []candidate
	for i := 0; i < len(s); {
		j := strings.IndexAny(s[i:], "?&")
		if j < 0 {
			break
		}
		i += j + 1
		eq := i
		for eq < len(s) && eq-i < 40 && (isWordByte(s[eq]) || s[eq] == '-') {
			eq++
		}
		if eq >= len(s) || s[eq] != '=' || !parameterNames[strings.ReplaceAll(lowerASCII(s[i:eq]), "-", "_")] {
			continue
		}
		from := eq + 1
		end := from
		for end < len(s) && strings.IndexByte("&# \t\r\n\"'`", s[end]) < 0 {
			end++
		}
		v := s[from:end]
		i = end
		plain := v
		if u, err := url.QueryUnescape(v); err == nil {
			plain = u
		}
		if len(v) < 8 || !isMixed(v) || isPlaceholder(v) || isPlaceholder(plain) || isHarmless(plain) {
			continue
		}
		severity := Warn
		if len(v) >= 16 && entropy(v) >= 3.2 {
			severity = Fail
		}
		out = append(out, candidate{Credential{"url-parameter", severity}, span2{from, end}, priorityParameter})
	}
	return out
}
