package agentstxt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// maskPrefix is by how many bytes of its beginning a secret is known: enough
// to be sure, and a bound for the work.
const maskPrefix = 64

// masker replaces secrets in text that is shown. A nil masker changes nothing.
type masker struct {
	// patterns are the beginnings of all secrets in lower case, sorted, none
	// of them the beginning of another.
	patterns []string
	first    [256]bool
	// longer: some secret goes on behind this beginning.
	longer map[string]bool
}

// newMasker knows the secrets of one or several files.
func newMasker(lists ...[]hit) *masker {
	m := &masker{longer: map[string]bool{}}
	for _, list := range lists {
		for _, h := range list {
			p := lowerASCII(h.secret)
			if len(p) > maskPrefix {
				p = p[:maskPrefix]
				m.longer[p] = true
			}
			if len(p) < 4 { // a password that short is no text of its own
				continue
			}
			m.patterns = append(m.patterns, p)
		}
	}
	slices.Sort(m.patterns)
	kept := m.patterns[:0]
	for _, p := range m.patterns {
		if n := len(kept); n > 0 && strings.HasPrefix(p, kept[n-1]) {
			m.longer[kept[n-1]] = m.longer[kept[n-1]] || p != kept[n-1]
			continue
		}
		kept = append(kept, p)
		m.first[p[0]] = true
	}
	m.patterns = kept
	return m
}

// mask replaces every secret by its first characters and a mark. What runs on
// behind the known beginning of a secret, up to a blank or quote, goes too.
func (m *masker) mask(s string) string {
	if m == nil || len(m.patterns) == 0 {
		return s
	}
	low := lowerASCII(s)
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); i++ {
		if !m.first[low[i]] {
			continue
		}
		p := m.find(low[i:])
		if p == "" {
			continue
		}
		end := i + len(p)
		if m.longer[p] {
			for end < len(s) && strings.IndexByte(" \t\r\n\"'`", s[end]) < 0 {
				end++
			}
		}
		for end < len(s) && !utf8.RuneStart(s[end]) {
			end++
		}
		b.WriteString(s[done:i])
		b.WriteString(beginning(s[i:end]) + "…[hidden]")
		done, i = end, end-1
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// find is the pattern that s begins with. As no pattern is the beginning of
// another, only the last one that is not behind s can be.
func (m *masker) find(s string) string {
	if len(s) > maskPrefix {
		s = s[:maskPrefix]
	}
	i := sort.SearchStrings(m.patterns, s)
	if i < len(m.patterns) && m.patterns[i] == s {
		return m.patterns[i]
	}
	if i > 0 && strings.HasPrefix(s, m.patterns[i-1]) {
		return m.patterns[i-1]
	}
	return ""
}

// beginning is what may be shown of a secret: its first four characters, fewer
// of a short one.
func beginning(secret string) string {
	n := min(4, len(secret)/3)
	for n > 0 && n < len(secret) && !utf8.RuneStart(secret[n]) {
		n--
	}
	return secret[:n]
}

// describe says of a hit what may be said.
func (h hit) describe() string {
	sum := sha256.Sum256([]byte(h.secret))
	return fmt.Sprintf("it begins with %q, has %d characters, its SHA-256 begins with %s",
		strings.ToValidUTF8(beginning(h.secret), ""), utf8.RuneCountInString(h.secret), hex.EncodeToString(sum[:3]))
}

// credentialFindings are the checks for the hits of one file (rule 45).
func credentialFindings(f *findings, hits []hit) {
	for _, h := range hits {
		if h.companion {
			continue
		}
		detail := "This looks like a real credential"
		remedy := "Remove it, make the credential invalid and issue a new one: it must count as known to others."
		switch {
		case h.Severity == Info:
			detail, remedy = "This is a key that is publishable by design", "Nothing, if it is meant to be public."
		case h.Kind == "jwt" && h.Severity == Warn:
			detail, remedy = "This is a token that has expired", "Remove it."
		case h.Kind == "entropy":
			detail, remedy = "This looks random, where a short name should stand", "If it is a credential, remove it and make it invalid."
		case h.Severity == Warn:
			detail = "This may be a credential"
		}
		f.add("credential", h.Severity, h.offset, "%s: %s (%s).", h.Kind, detail, h.describe()).fix("%s", remedy)
	}
}
