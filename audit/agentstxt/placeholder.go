package agentstxt

import (
	"math"
	"regexp"
	"strings"
	"unicode"
)

// placeholderWords stand for a credential in examples (section 7 C).
var placeholderWords = map[string]bool{
	"your": true, "my": true, "example": true, "sample": true, "placeholder": true, "changeme": true, "redacted": true,
	"dummy": true, "here": true, "token": true, "key": true,
}

// isPlaceholder reports whether a value, or what follows a token's own
// prefix, only stands where a credential would (section 7 C).
func isPlaceholder(v string) bool {
	if v == "" || strings.ContainsAny(v, "<>{}…") || strings.HasPrefix(v, "$") || strings.Contains(v, "%s") || strings.Contains(v, "...") {
		return true
	}
	low := strings.ToLower(v)
	for _, run := range []string{"xxxx", "123456", "abcdef", "****"} {
		if strings.Contains(low, run) {
			return true
		}
	}
	if strings.HasSuffix(v, "EXAMPLE") || strings.HasSuffix(v, "EXAMPLEKEY") {
		return true
	}
	one := true
	for i := 1; i < len(v) && one; i++ {
		one = v[i] == v[0]
	}
	if one {
		return true
	}
	for piece := range strings.FieldsFuncSeq(low, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if placeholderWords[piece] {
			return true
		}
	}
	return false
}

// entropy is the Shannon entropy of a string in bits per byte.
func entropy(s string) float64 {
	if s == "" {
		return 0
	}
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	var e float64
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			e -= p * math.Log2(p)
		}
	}
	return e
}

// isMixed reports whether a value has a digit, or capitals behind small
// letters: words of prose have neither (section 10, reading 12).
func isMixed(s string) bool {
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' || i > 0 && s[i] >= 'A' && s[i] <= 'Z' && s[i-1] >= 'a' && s[i-1] <= 'z' {
			return true
		}
	}
	return false
}

func countDigits(s string) int {
	n := 0
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' {
			n++
		}
	}
	return n
}

var (
	fieldPath    = regexp.MustCompile(`^\$?[A-Za-z_]\w*(\[\w*\])?(\.[A-Za-z_]\w*(\[\w*\])?)+$`)
	uuid         = regexp.MustCompile(`^(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	hexHash      = regexp.MustCompile(`^(?i)(0x)?([0-9a-f]{40}|[0-9a-f]{64})$`)
	account      = regexp.MustCompile(`^(?i)0x[0-9a-f]{40}$`)
	base58       = regexp.MustCompile(`^[1-9A-HJ-NP-Za-km-z]{32,44}$`)
	variableName = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)
	email        = regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[a-z]+$`)
	phone        = regexp.MustCompile(`^\+?[0-9() ./-]+$`)
)

// isFieldPath reports whether a value names a place in an answer, like
// response.body.api_key.
func isFieldPath(s string) bool { return len(s) < 256 && fieldPath.MatchString(s) }

// secretNames and publicNames are looked for in names without case and
// separators (section 7 B and C).
var (
	secretNames = []string{"password", "passwd", "secret", "apikey", "accesstoken", "clientsecret", "privatekey"}
	publicNames = []string{
		"publickey", "keyid", "fingerprint", "sha256", "digest", "checksum", "integrity", "commit", "address", "treasury", "wallet",
	}
)

var separators = strings.NewReplacer("-", "", "_", "", " ", "", ".", "")

func squeeze(name string) string { return separators.Replace(strings.ToLower(name)) }

// isSecretName reports whether a field or member of that name would hold a
// secret.
func isSecretName(name string) bool {
	if len(name) > 200 {
		return false
	}
	s := squeeze(name)
	return hasAny(s, secretNames) && !isPublicName(name)
}

func isPublicName(name string) bool {
	if hasAny(squeeze(name), publicNames) {
		return true
	}
	for piece := range strings.FieldsFuncSeq(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if piece == "kid" || piece == "did" {
			return true
		}
	}
	return false
}

func hasAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// isHarmless reports whether a value is public by nature, or names or
// describes something else (section 7 C).
func isHarmless(v string) bool {
	for _, prefix := range []string{"/", "./", "~/", "did:", "sha256-", "sha384-", "sha512-", "ssh-"} {
		if strings.HasPrefix(v, prefix) {
			return true
		}
	}
	if strings.Contains(v, "://") || isFieldPath(v) {
		return true
	}
	return len(v) < 200 && (uuid.MatchString(v) || account.MatchString(v) || variableName.MatchString(v) || email.MatchString(v) || phone.MatchString(v))
}

// isNamedSecret reports whether the value behind a secret's name is one:
// 8 or more characters, one word, and nothing that is harmless by nature.
func isNamedSecret(v string) (Severity, bool) {
	if len(v) < 8 || strings.ContainsFunc(v, isSpace) || !isMixed(v) || isPlaceholder(v) || isHarmless(v) {
		return "", false
	}
	if len(v) >= 20 && entropy(v) >= 3.5 {
		return Fail, true
	}
	return Warn, true
}

// isRandomWord reports whether a short identifier looks like a random string
// (section 7 B, entropy alone).
func isRandomWord(v string) bool {
	if len(v) < 32 || !isMixed(v) || isPlaceholder(v) {
		return false
	}
	if len(v) < 200 && (uuid.MatchString(v) || hexHash.MatchString(v) || base58.MatchString(v)) {
		return false
	}
	if hexAny.run(v, 0) == len(v) {
		return entropy(v) >= 3.2
	}
	return base64id.run(v, 0) == len(v) && entropy(v) >= 4.3
}

var base64id = chars("A-Za-z0-9+/_=-")
