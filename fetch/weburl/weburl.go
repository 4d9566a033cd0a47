// Package weburl reads URLs as browsers do (WHATWG URL Standard) and holds the
// two rules about them on which audits rest: what may be audited ([ParseTarget])
// and what a publication may link to ([ParseSiteLink], [ParseStart]);
// specification section 1.
//
// Go's net/url is of no use here: it disagrees with browsers on most hostile
// spellings (0x7f.1, backslashes, tabs, IDN, escapes in hosts), and a check
// that reads a URL otherwise than the one who later follows it checks nothing.
package weburl

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"agentaudit/fetch/publicip"
)

const (
	// MaxLength is the limit for the serialised form of a target or site
	// link, in characters (specification section 1).
	MaxLength = 2048
	// maxInput bounds what reaches the parser at all, in bytes: parsing is
	// quadratic in the number of '@', and 8 KiB keeps that below 70 ms.
	maxInput = 8192
)

// URL is an absolute URL in its WHATWG form. It is immutable and safe for
// concurrent use.
type URL struct {
	u    *whatwg.Url
	href string
}

// Parse reads an absolute URL. The error is a [*RuleError].
func Parse(raw string) (*URL, error) {
	if len(raw) > maxInput {
		return nil, broken(RuleTooLong, raw, "the URL is longer than %d bytes", maxInput)
	}
	u, err := whatwg.Parse(raw)
	if err != nil {
		return nil, broken(RuleSyntax, raw, "this is not a URL")
	}
	return written(u, raw)
}

// Resolve reads a reference as it stands in a document served at u.
func (u *URL) Resolve(ref string) (*URL, error) {
	if len(ref) > maxInput {
		return nil, broken(RuleTooLong, ref, "the URL is longer than %d bytes", maxInput)
	}
	r, err := u.u.Parse(ref)
	if err != nil {
		return nil, broken(RuleSyntax, ref, "this is not a URL")
	}
	return written(r, ref)
}

// written is a URL with its serialised form, which can be longer than what it
// was read from: it is bounded too, so that it can be read again.
func written(u *whatwg.Url, raw string) (*URL, error) {
	href := u.Href(false)
	if len(href) > maxInput {
		return nil, broken(RuleTooLong, raw, "the URL is longer than %d bytes, as it is written out", maxInput)
	}
	return &URL{u, href}, nil
}

// String is the serialised URL (WHATWG href).
func (u *URL) String() string { return u.href }

// Location is the URL without fragment and without an empty query: what is
// asked of a server, and what two URLs of one document have in common.
func (u *URL) Location() string {
	href := u.u.Href(true)
	if u.Query() == "" {
		return strings.TrimSuffix(href, "?")
	}
	return href // a query may itself end in a question mark
}

// Scheme is the scheme in lower case, without a colon.
func (u *URL) Scheme() string { return u.u.Scheme() }

// Hostname is the host in its WHATWG form: lower case, punycode, IPv6 in
// brackets, without a port.
func (u *URL) Hostname() string { return u.u.Hostname() }

// Port is the port where it is not the default of the scheme, else "".
func (u *URL) Port() string { return u.u.Port() }

// Path is the path, with a leading slash for https URLs.
func (u *URL) Path() string { return u.u.Pathname() }

// Query is the query with its question mark, "" where it is absent or empty.
func (u *URL) Query() string { return u.u.Search() }

// Fragment is the fragment with its number sign, "" where absent or empty.
func (u *URL) Fragment() string { return u.u.Hash() }

// HasCredentials reports whether the URL carries a user name or a password.
func (u *URL) HasCredentials() bool { return u.u.Username() != "" || u.u.Password() != "" }

// Origin is scheme, host and port as browsers serialise them, "null" for
// schemes without an origin.
func (u *URL) Origin() string {
	switch u.Scheme() {
	case "http", "https", "ws", "wss", "ftp":
		return u.Scheme() + "://" + u.u.Host()
	}
	return "null"
}

// IP is the address where the host is an IP literal. For https a WHATWG host
// that reads as an address is one: all numeric hosts become dotted quads.
func (u *URL) IP() (netip.Addr, bool) {
	a, err := netip.ParseAddr(strings.Trim(u.Hostname(), "[]"))
	return a, err == nil
}

// Rule names a broken rule; tests and callers rely on it, not on the prose.
type Rule string

// The rules that a URL can break.
const (
	RuleEmpty       Rule = "empty"
	RuleSyntax      Rule = "syntax"
	RuleScheme      Rule = "scheme"
	RuleCredentials Rule = "credentials"
	RulePort        Rule = "port"
	RuleQuery       Rule = "query"
	RuleFragment    Rule = "fragment"
	RuleTooLong     Rule = "too-long"
	RuleHost        Rule = "host"
	RuleAddress     Rule = "address"
)

// RuleError says which rule a URL breaks, in a sentence for people.
type RuleError struct {
	Rule Rule
	// Input is the text as given, cut to 200 bytes.
	Input string
	// Message is a sentence without a final full stop.
	Message string
}

// Error gives the message and the offending text, quoted.
func (e *RuleError) Error() string { return fmt.Sprintf("%s: %q", e.Message, e.Input) }

func broken(rule Rule, input, format string, args ...any) *RuleError {
	const most = 200
	if len(input) > most {
		cut := most
		// Not further back than a character is long: this may be no UTF-8.
		for cut > most-utf8.UTFMax && !utf8.RuneStart(input[cut]) {
			cut--
		}
		input = input[:cut] + "…"
	}
	return &RuleError{rule, input, fmt.Sprintf(format, args...)}
}

var schemePrefix = regexp.MustCompile(`(?i)^[a-z][a-z0-9+.-]*://`)

// ParseTarget reads what a user gives to be audited: a bare domain, a
// directory or the URL of the JSON file (specification section 1). The result
// has neither query nor fragment. The error is a [*RuleError].
func ParseTarget(raw string) (*URL, error) {
	u, err := parseTyped(raw)
	if err != nil {
		return nil, err
	}
	if err := checkPlain(u, raw); err != nil {
		return nil, err
	}
	if strings.HasSuffix(u.Path(), "/") {
		if u, err = u.Resolve("agentic.json"); err != nil {
			return nil, err
		}
	}
	return u, checkPlain(u, raw)
}

// ParseStart reads a README URL or the start of a discovery as a user gives
// it: https:// may be left out, and the host must be a possible public one.
// The error is a [*RuleError].
func ParseStart(raw string) (*URL, error) {
	u, err := parseTyped(raw)
	if err != nil {
		return nil, err
	}
	if err := checkPlain(u, raw); err != nil {
		return nil, err
	}
	return u, checkHost(u, raw)
}

// ParseSiteLink reads a URL as it stands in a site profile, where nothing is
// added to it. The error is a [*RuleError].
func ParseSiteLink(raw string) (*URL, error) {
	u, err := Parse(raw)
	if err != nil {
		return nil, err
	}
	return u, CheckSiteLink(u)
}

// CheckSiteLink applies the rules of a site link to a URL that was resolved
// already, for instance a link on a page. It returns nil or a [*RuleError].
func CheckSiteLink(u *URL) error {
	if err := checkPlain(u, u.href); err != nil {
		return err
	}
	return checkHost(u, u.href)
}

// parseTyped reads what people type: outer blanks and a lone ? or # at the
// end do not count, and a missing scheme is https.
func parseTyped(raw string) (*URL, error) {
	s := strings.TrimFunc(raw, isBlank)
	if s == "" {
		return nil, broken(RuleEmpty, raw, "the URL is empty")
	}
	if strings.HasSuffix(s, "?") || strings.HasSuffix(s, "#") {
		s = s[:len(s)-1]
	}
	if !schemePrefix.MatchString(s) {
		s = "https://" + s
	}
	u, err := Parse(s)
	if err != nil {
		return nil, broken(err.(*RuleError).Rule, raw, "%s", err.(*RuleError).Message)
	}
	if u.Query() == "" && u.Fragment() == "" && u.Location() != u.href {
		return Parse(u.Location())
	}
	return u, nil
}

// isBlank is what ECMAScript's String.prototype.trim removes.
func isBlank(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return r >= 0x2000 && r <= 0x200A
}

// checkPlain holds what targets and site links have in common.
func checkPlain(u *URL, raw string) error {
	switch {
	case u.Scheme() != "https":
		return broken(RuleScheme, raw, "only https URLs are read, this one is %s", u.Scheme())
	case u.HasCredentials():
		return broken(RuleCredentials, withoutCredentials(u), "the URL carries a user name or password; remove it")
	case u.Port() != "":
		return broken(RulePort, raw, "only the standard port 443 is used, this URL names port %s", u.Port())
	case u.Query() != "":
		return broken(RuleQuery, raw, "the URL has a query (the part behind ?); give it without one")
	case u.Fragment() != "":
		return broken(RuleFragment, raw, "the URL has a fragment (the part behind #); give it without one")
	case utf8.RuneCountInString(u.href) > MaxLength:
		return broken(RuleTooLong, raw, "the URL is longer than %d characters", MaxLength)
	}
	return nil
}

// withoutCredentials keeps a password out of messages and logs.
func withoutCredentials(u *URL) string {
	c := u.u.Clone()
	c.SetUsername("")
	c.SetPassword("")
	return c.Href(false)
}

func checkHost(u *URL, raw string) error {
	if a, ok := u.IP(); ok {
		if err := publicip.Check(a); err != nil {
			return broken(RuleAddress, raw, "%v", err)
		}
		return nil
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") {
		return broken(RuleHost, raw, "%s is a name of the local machine or network, not of the public internet", host)
	}
	return nil
}
