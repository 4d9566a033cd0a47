package agentstxt

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

// shape is a kind of credential that is known by its own form (section 7 A):
// a prefix and a run of characters behind it.
type shape struct {
	kind     string
	severity Severity
	prefixes []string
	body     *charset
	// least and most bound the run; most is 0 for no bound.
	least, most int
	// whole, if set, takes the place of body: it returns where the credential
	// and what follows its own prefix begin and end, ok if there is one.
	whole func(s string, at int, prefix string) (secret, rest span2, ok bool)
}

// span2 is a range of bytes.
type span2 struct{ from, to int }

type charset [256]bool

// chars builds a set from single characters and ranges like "a-z".
func chars(spec string) *charset {
	var c charset
	for i := 0; i < len(spec); i++ {
		if i+2 < len(spec) && spec[i+1] == '-' {
			for b := int(spec[i]); b <= int(spec[i+2]); b++ {
				c[b] = true
			}
			i += 2
			continue
		}
		c[spec[i]] = true
	}
	return &c
}

// run is the end of the run of characters of the set that begins at i.
func (c *charset) run(s string, i int) int {
	for i < len(s) && c[s[i]] {
		i++
	}
	return i
}

var (
	alnum    = chars("A-Za-z0-9")
	alnumUp  = chars("A-Z0-9")
	urlSafe  = chars("A-Za-z0-9_-")
	hexLow   = chars("a-f0-9")
	hexAny   = chars("a-fA-F0-9")
	alnumDsh = chars("A-Za-z0-9-")
	base64s  = chars("A-Za-z0-9+/=")
	tokens   = chars("A-Za-z0-9._~+/=-")
)

// shapes are the named token shapes. Their lengths are those of the
// specification. The order decides where two shapes overlap.
var shapes = []shape{
	{"aws-key-id", Fail, []string{"AKIA", "ASIA", "ABIA", "ACCA"}, alnumUp, 16, 16, nil},
	{"github", Fail, []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, alnum, 36, 0, nil},
	{"github-fine", Fail, []string{"github_pat_"}, chars("A-Za-z0-9_"), 82, 82, nil},
	{"gitlab", Fail, []string{"glpat-"}, urlSafe, 20, 0, nil},
	{"slack", Fail, []string{"xoxa-", "xoxb-", "xoxp-", "xoxo-", "xoxs-", "xoxr-"}, alnumDsh, 10, 0, nil},
	{"slack-app", Fail, []string{"xapp-"}, nil, 0, 0, byPattern(`^xapp-[0-9]-[A-Za-z0-9-]{10,}`)},
	{"slack-hook", Fail, []string{"hooks.slack.com/services/T"}, nil, 0, 0,
		byPattern(`^hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{20,}`)},
	{"stripe", Fail, []string{"sk_live_", "rk_live_"}, alnum, 16, 0, nil},
	{"stripe-test", Warn, []string{"sk_test_", "rk_test_"}, alnum, 16, 0, nil},
	{"stripe-hook", Fail, []string{"whsec_"}, base64s, 24, 0, nil},
	{"stripe-public", Info, []string{"pk_live_", "pk_test_"}, alnum, 16, 0, nil},
	{"openai", Fail, []string{"sk-proj-", "sk-svcacct-", "sk-admin-"}, urlSafe, 20, 0, nil},
	{"anthropic", Fail, []string{"sk-ant-"}, nil, 0, 0, byPattern(`^sk-ant-[a-z0-9]+-[A-Za-z0-9_-]{60,}`)},
	{"openai-old", Fail, []string{"sk-"}, alnum, 48, 48, nil},
	{"google-api", Warn, []string{"AIza"}, urlSafe, 35, 35, nil},
	{"google-secret", Fail, []string{"GOCSPX-"}, urlSafe, 28, 28, nil},
	{"google-access", Fail, []string{"ya29."}, urlSafe, 20, 0, nil},
	{"sendgrid", Fail, []string{"SG."}, nil, 0, 0, byPattern(`^SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}`)},
	{"mailgun", Fail, []string{"key-"}, hexLow, 32, 32, nil},
	{"twilio", Fail, []string{"SK"}, hexLow, 32, 32, nil},
	{"npm", Fail, []string{"npm_"}, alnum, 36, 36, nil},
	{"pypi", Fail, []string{"pypi-AgEI"}, urlSafe, 50, 0, nil},
	{"huggingface", Fail, []string{"hf_"}, alnum, 34, 0, nil},
	{"shopify", Fail, []string{"shpat_", "shpca_", "shppa_", "shpss_"}, hexAny, 32, 32, nil},
	{"digitalocean", Fail, []string{"doo_v1_", "dop_v1_", "dor_v1_"}, hexLow, 64, 64, nil},
	{"vault", Fail, []string{"hvs.", "hvb."}, urlSafe, 24, 0, nil},
	{"linear", Fail, []string{"lin_api_"}, alnum, 40, 40, nil},
	{"notion", Fail, []string{"ntn_"}, alnum, 40, 0, nil},
	{"supabase", Fail, []string{"sbp_"}, hexLow, 40, 40, nil},
	{"databricks", Fail, []string{"dapi"}, hexLow, 32, 32, nil},
	{"groq", Fail, []string{"gsk_"}, alnum, 40, 0, nil},
	{"xai", Fail, []string{"xai-"}, alnum, 60, 0, nil},
	{"replicate", Fail, []string{"r8_"}, alnum, 37, 37, nil},
	{"figma", Fail, []string{"figd_"}, urlSafe, 40, 0, nil},
	{"telegram", Fail, []string{":AA"}, nil, 0, 0, telegram},
	{"jwt", Fail, []string{".eyJ"}, nil, 0, 0, jwt},
	{"private-key", Fail, []string{"-----BEGIN "}, nil, 0, 0, byPattern(`^-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----`)},
	{"azure-storage", Fail, []string{"AccountKey="}, nil, 0, 0, azureStorage},
	{"azure-sas", Fail, []string{"?sig=", "&sig="}, nil, 0, 0, azureSAS},
	{"url-userinfo", Fail, []string{"://"}, nil, 0, 0, userinfo},
	{"authorization", Fail, []string{"bearer", "basic", "token"}, nil, 0, 0, authorization},
}

// window is how much of a credential of a compound form is looked at. Longer
// runs are taken to belong to it.
const window = 1024

// byPattern matches an anchored pattern. The first part, up to its first
// separator, counts as the prefix.
func byPattern(pattern string) func(string, int, string) (span2, span2, bool) {
	re := regexp.MustCompile(pattern)
	return func(s string, at int, prefix string) (span2, span2, bool) {
		m := re.FindStringIndex(s[at:min(len(s), at+window)])
		if m == nil {
			return span2{}, span2{}, false
		}
		end := at + m[1]
		if m[1] == window {
			end = urlSafe.run(s, end)
		}
		if end < len(s) && isWordByte(s[end-1]) && isWordByte(s[end]) {
			return span2{}, span2{}, false
		}
		return span2{at, end}, span2{min(at+len(prefix), end), end}, true
	}
}

func isWordByte(c byte) bool { return isAlnum(c) || c == '_' }

func telegram(s string, at int, _ string) (span2, span2, bool) {
	from := at
	for from > 0 && s[from-1] >= '0' && s[from-1] <= '9' && at-from <= 10 {
		from--
	}
	end := urlSafe.run(s, at+3)
	if n := at - from; n < 8 || n > 10 || from > 0 && isWordByte(s[from-1]) || end-(at+3) < 33 {
		return span2{}, span2{}, false
	}
	end = at + 3 + 33
	if end < len(s) && isWordByte(s[end]) {
		return span2{}, span2{}, false
	}
	return span2{from, end}, span2{at + 3, end}, true
}

// jwt begins at the dot between the first two parts.
func jwt(s string, at int, _ string) (span2, span2, bool) {
	from := at
	for from > 0 && urlSafe[s[from-1]] {
		from--
	}
	// The first part may begin inside the run, at a boundary.
	part := s[from:at]
	for i := strings.Index(part, "eyJ"); ; i = strings.Index(part, "eyJ") {
		if i < 0 {
			return span2{}, span2{}, false
		}
		if i == 0 || part[i-1] == '-' {
			from += i
			break
		}
		part, from = part[i+3:], from+i+3
	}
	second := urlSafe.run(s, at+1)
	if at-from < 11 || second-(at+1) < 11 || second >= len(s) || s[second] != '.' {
		return span2{}, span2{}, false
	}
	var header map[string]any
	if raw, err := decodeSegment(s[from:at]); err != nil || json.Unmarshal(raw, &header) != nil || header["alg"] == nil {
		return span2{}, span2{}, false
	}
	end := urlSafe.run(s, second+1)
	return span2{from, end}, span2{from, end}, true
}

func decodeSegment(s string) ([]byte, error) {
	if len(s) > 16*window {
		return nil, base64.CorruptInputError(0)
	}
	return base64.RawURLEncoding.DecodeString(s)
}

// jwtExpired reports whether a token says that it expired before now.
func jwtExpired(token string, now time.Time) bool {
	parts := strings.SplitN(token, ".", 3)
	if len(parts) < 2 || now.IsZero() {
		return false
	}
	var claims struct {
		Exp float64 `json:"exp"`
	}
	raw, err := decodeSegment(parts[1])
	return err == nil && json.Unmarshal(raw, &claims) == nil && claims.Exp > 0 && claims.Exp < float64(now.Unix())
}

func azureStorage(s string, at int, prefix string) (span2, span2, bool) {
	from := at + len(prefix)
	end := chars64.run(s, from)
	if end-from != 86 || !strings.HasPrefix(s[end:], "==") {
		return span2{}, span2{}, false
	}
	return span2{from, end + 2}, span2{from, end + 2}, true
}

var (
	chars64  = chars("A-Za-z0-9+/")
	sasChars = chars("A-Za-z0-9%+/=_-")
)

func azureSAS(s string, at int, prefix string) (span2, span2, bool) {
	from := at + len(prefix)
	end := sasChars.run(s, from)
	if end-from < 40 {
		return span2{}, span2{}, false
	}
	// The same URL must have an expiry; a URL that has none within reach is
	// another kind of address.
	left := max(0, at-2*window)
	if i := strings.LastIndexAny(s[left:at], " \t\r\n\"'<>"); i >= 0 {
		left += i + 1
	}
	right := min(len(s), end+2*window)
	if i := strings.IndexAny(s[end:right], " \t\r\n\"'<>"); i >= 0 {
		right = end + i
	}
	url := s[left:right]
	if !strings.Contains(url, "?se=") && !strings.Contains(url, "&se=") {
		return span2{}, span2{}, false
	}
	return span2{from, end}, span2{from, end}, true
}

// userinfo finds the password of scheme://user:password@.
func userinfo(s string, at int, prefix string) (span2, span2, bool) {
	none := span2{}
	if at == 0 || !isAlnum(s[at-1]) {
		return none, none, false
	}
	i := at + len(prefix)
	end := i
	for end < len(s) && end-i < 4*window && strings.IndexByte("/?# \t\r\n\"'<>`", s[end]) < 0 {
		end++
	}
	authority := s[i:end]
	host := strings.LastIndexByte(authority, '@')
	if host < 0 {
		return none, none, false
	}
	colon := strings.IndexByte(authority[:host], ':')
	if colon < 1 || colon == host-1 {
		return none, none, false
	}
	password := span2{i + colon + 1, i + host}
	if w := strings.ToLower(s[password.from:password.to]); w == "user" || w == "password" || w == "pass" || w == "secret" {
		return none, none, false
	}
	return password, password, true
}

// authorization finds the token behind Bearer, Basic or Token.
func authorization(s string, at int, prefix string) (span2, span2, bool) {
	none := span2{}
	i := at + len(prefix)
	from := i
	for from < len(s) && isSpace(rune(s[from])) {
		from++
	}
	if from == i {
		return none, none, false
	}
	end := tokens.run(s, from)
	word := strings.TrimRight(s[from:end], ".")
	end = from + len(word)
	if len(word) < 20 || !strings.ContainsAny(word, "0123456789") || entropy(word) < 3.5 ||
		strings.Contains(word, ".") && strings.Contains(word, "/") || isHarmless(word) || len(word) == 66 && hexHash.MatchString(word) {
		return none, none, false
	}
	return span2{from, end}, span2{from, end}, true
}
