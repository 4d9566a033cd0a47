package agentstxt

import "strings"

// maxKeyWords is how many words of a private key are looked at; keys of 16,384
// bits have 200 lines.
const maxKeyWords = 300

// companions are what belongs to a credential and must not be printed either:
// the lines of a private key behind its first one, and words of the form of an
// AWS secret near an AWS key id.
func companions(c candidate, text string) []string {
	switch c.Kind {
	case "private-key":
		return keyBody(text[c.to:])
	case "aws-key-id":
		return awsSecrets(text[max(0, c.from-awsReach):c.from], text[c.to:min(len(text), c.to+awsReach)])
	}
	return nil
}

// keyBody are the lines of a key's body, up to anything that is none of it.
// Quotes, comment signs and escaped line breaks may stand between them.
func keyBody(rest string) []string {
	var out []string
	for i := 0; i < len(rest) && len(out) < maxKeyWords; {
		switch {
		case strings.HasPrefix(rest[i:], `\n`), strings.HasPrefix(rest[i:], `\r`):
			i += 2
			continue
		case strings.IndexByte(" \t\r\n#>|\"',\\", rest[i]) >= 0:
			i++
			continue
		}
		end := base64s.run(rest, i)
		// The first line of a key is long; the last one may be short.
		if n := end - i; n < 8 || len(out) == 0 && n < 32 {
			break
		}
		out = append(out, rest[i:end])
		i = end
	}
	return out
}

// awsReach is how far from a key id its secret is looked for, in bytes.
const awsReach = 120

func awsSecrets(around ...string) []string {
	var out []string
	for _, s := range around {
		for i := 0; i < len(s); {
			if !chars64[s[i]] {
				i++
				continue
			}
			end := chars64.run(s, i)
			if w := s[i:end]; len(w) == 40 && isMixed(w) && !isPlaceholder(w) && !hexHash.MatchString(w) {
				out = append(out, w)
			}
			i = end
		}
	}
	return out
}
