package agentstxt

import (
	"slices"
	"strings"
)

// maxValue is by how much of a long value it is judged.
const maxValue = 200

// scanNamed finds values behind the name of a secret: the value of a field or
// member of such a name, and "name: value" or "name=value" inside prose.
func scanNamed(f span) []candidate {
	var out []candidate
	add := func(from, to int) {
		severity, ok := isNamedSecret(f.text[from:min(to, from+maxValue)])
		if ok {
			out = append(out, candidate{Credential{"named-value", severity}, span2{f.offset + from, f.offset + to}, priorityNamed})
		}
	}
	if isSecretName(f.name) {
		add(0, len(f.text))
		if len(out) > 0 {
			return out
		}
	}
	s := f.text
	run := 0 // the end of the word that was measured last
	for i := 0; i < len(s); i++ {
		if s[i] != ':' && s[i] != '=' || !namesSecret(s, i) {
			continue
		}
		from := i + 1
		for from < len(s) && from-i < 9 && strings.IndexByte(" \t\"'`=:", s[from]) >= 0 {
			from++
		}
		if run < from {
			run = from
			for run < len(s) && strings.IndexByte(" \t\r\n\"'`,;", s[run]) < 0 {
				run++
			}
		}
		to := from + len(strings.TrimRight(s[from:run], ".)!?]"))
		before := len(out)
		add(from, to)
		if len(out) > before {
			i = to - 1
		}
	}
	return out
}

// namesSecret reports whether the words before a separator name a secret: the
// last word contains such a name, or the last two end with one.
func namesSecret(s string, separator int) bool {
	end := separator
	for end > 0 && separator-end < 4 && strings.IndexByte(" \t\"'`", s[end-1]) >= 0 {
		end--
	}
	from := wordStart(s, end)
	if from == end || from > 0 && (s[from-1] == '?' || s[from-1] == '&') {
		return false
	}
	last := s[from:end]
	two := last
	if from > 1 && s[from-1] == ' ' {
		two = s[wordStart(s, from-1):end]
	}
	if isPublicName(two) {
		return false
	}
	if isSecretName(last) {
		return true
	}
	joined := squeeze(two)
	return slices.ContainsFunc(secretNames, func(name string) bool { return strings.HasSuffix(joined, name) })
}

// wordStart is where the identifier that ends at end begins; identifiers of
// more than 64 bytes name nothing.
func wordStart(s string, end int) int {
	i := end
	for i > 0 && end-i < 64 && (isWordByte(s[i-1]) || s[i-1] == '-' || s[i-1] == '.') {
		i--
	}
	return i
}

// fields looks at the values that must hold none by their nature: Auth, the
// other closed lists, and short identifiers (section 7 B).
func (s *scanner) fields() {
	d := &s.doc.Declaration
	for i := range d.Capabilities {
		c := &d.Capabilities[i]
		s.authValue(c.Auth.Type)
		s.identifier(c.ID)
		for _, scope := range c.allScopes() {
			s.identifier(scope)
		}
		for _, p := range c.Parameters {
			s.identifier(p.Name)
		}
	}
	for _, a := range d.Agents {
		s.identifier(a.Name)
		for _, c := range a.Capabilities {
			s.identifier(c)
		}
	}
	for _, list := range [][]Text{s.doc.closed, s.doc.params} {
		for _, t := range list {
			for word := range strings.FieldsFuncSeq(t.Value, func(r rune) bool { return isSpace(r) || strings.ContainsRune(",;|/()", r) }) {
				if len(word) >= 20 && countDigits(word) > 0 && entropy(word) >= 3.5 && !isPlaceholder(word) {
					s.found("closed-field", Fail, t, word)
				}
			}
		}
	}
}

// found notes a hit in a field, unless its text is a hit already.
func (s *scanner) found(kind string, severity Severity, t Text, secret string) {
	for _, h := range s.at(t) {
		if strings.Contains(t.Value, h.secret) || strings.Contains(h.secret, secret) {
			return
		}
	}
	s.hits = append(s.hits, hit{Credential: Credential{kind, severity}, offset: t.offset, secret: secret})
}

// at are the hits within a value, by place.
func (s *scanner) at(t Text) []hit {
	if s.sorted == nil {
		s.sorted = slices.Clone(s.hits)
		slices.SortStableFunc(s.sorted, func(a, b hit) int { return a.offset - b.offset })
	}
	from, _ := slices.BinarySearchFunc(s.sorted, t.offset, func(h hit, at int) int { return h.offset - at })
	to := from
	for to < len(s.sorted) && s.sorted[to].offset < t.offset+max(1, len(t.Value)) {
		to++
	}
	return s.sorted[from:to]
}

// authValue looks at an Auth that is not in the list: a type of the list with
// more behind it, or a long word with digits.
func (s *scanner) authValue(t Text) {
	v := t.Value
	if v == "" || contains(authTypes, v) {
		return
	}
	rest := v
	for _, w := range authTypes {
		if len(v) > len(w) && equalFold(v[:len(w)], w) {
			rest = v[len(w):]
			break
		}
	}
	for word := range strings.FieldsSeq(rest) {
		word = strings.Trim(word, ":=-,;\"'()")
		if len(word) < 16 || strings.Contains(word, "://") || isPlaceholder(word) || entropy(word) < 3.2 {
			continue
		}
		if countDigits(word) >= 2 { // words of prose have one at most, as in OAuth2
			s.found("auth-value", Fail, t, word)
			return
		}
	}
}

func (s *scanner) identifier(t Text) {
	if isRandomWord(t.Value) {
		s.found("entropy", Warn, t, t.Value)
	}
}
