package agentstxt

import (
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"agentaudit/fetch/weburl"
)

// link is an absolute URL with a host, as far as the rules look at it.
type link struct {
	scheme string
	// host is in lower case and punycode; hostPort has the port where it is
	// not the scheme's default.
	host, hostPort string
	// path, query and fragment are as written; the marks ? and # are not in
	// them, hasQuery and hasFragment tell whether they stood there.
	path, query, fragment string
	hasQuery, hasFragment bool
	user                  bool
}

// parseLink reads an absolute URL with a host: a scheme, "://", a host. It is
// stricter than browsers, who make one of "https:shop" and "https:///shop".
func parseLink(raw string) (link, bool) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || !isScheme(scheme) || len(scheme) > 32 {
		return link{}, false
	}
	l := link{scheme: strings.ToLower(scheme)}
	if strings.ContainsFunc(raw, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
		return link{}, false
	}
	end := strings.IndexAny(rest, "/?#\\")
	if end < 0 {
		end = len(rest)
	}
	authority := rest[:end]
	rest = rest[end:]
	if len(authority) > 2048 || strings.HasPrefix(rest, "\\") {
		return link{}, false
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		l.user = true
		authority = authority[i+1:]
	}
	if authority == "" || strings.HasPrefix(authority, ":") || strings.ContainsAny(authority, " \t\"<>^`|") {
		return link{}, false
	}
	if slices.Contains([]string{"http", "https", "ws", "wss", "ftp"}, l.scheme) {
		u, err := weburl.Parse(l.scheme + "://" + authority + "/")
		if err != nil || u.Hostname() == "" {
			return link{}, false
		}
		l.host, l.hostPort = strings.TrimSuffix(u.Hostname(), "."), u.Hostname()
		if u.Port() != "" {
			l.hostPort += ":" + u.Port()
		}
	} else {
		l.hostPort = strings.ToLower(authority)
		l.host, _, _ = strings.Cut(l.hostPort, ":")
	}
	rest, l.fragment, l.hasFragment = strings.Cut(rest, "#")
	l.path, l.query, l.hasQuery = strings.Cut(rest, "?")
	return l, true
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !isAlnum(c) && (i == 0 || c != '+' && c != '-' && c != '.') || i == 0 && '0' <= c && c <= '9' {
			return false
		}
	}
	return s != ""
}

// origin is scheme, host and port.
func (l link) origin() string { return l.scheme + "://" + l.hostPort }

// request is what is asked of the server: path and query, at least "/".
func (l link) request() string {
	p := l.path
	if p == "" {
		p = "/"
	}
	if l.hasQuery {
		p += "?" + l.query
	}
	return p
}

// normal is the form in which two URLs are compared (section 5): scheme and
// host in lower case, no default port, an empty path as "/", else as written.
func normal(raw string) string {
	l, ok := parseLink(raw)
	if !ok {
		return raw
	}
	user := ""
	if l.user {
		_, after, _ := strings.Cut(raw, "://")
		end := strings.IndexAny(after, "/?#")
		if end < 0 {
			end = len(after)
		}
		user = after[:strings.LastIndexByte(after[:end], '@')+1]
	}
	out := l.scheme + "://" + user + l.hostPort + l.request()
	if l.hasFragment {
		out += "#" + l.fragment
	}
	return out
}

// isDevHost reports whether a host is one for development, where plain http
// is no fault: localhost, *.localhost, *.test, loopback and private addresses
// (section 1, HTTPS).
func isDevHost(host string) bool {
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		ip = ip.Unmap()
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last == "localhost" || last == "test" && host != "test"
}

// bare is a host without "www.".
func bare(host string) string { return strings.TrimPrefix(host, "www.") }

// registrable is the registrable domain by the public suffix list with its
// private section, "" for addresses and for suffixes themselves.
func registrable(host string) string {
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ""
	}
	d, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return ""
	}
	return d
}

// sameDomain reports whether an endpoint on host belongs to a site (rule 24).
func sameDomain(host, site string) bool {
	site = bare(site)
	if host == site || bare(host) == site || strings.HasSuffix(host, "."+site) {
		return true
	}
	d := registrable(site)
	return d != "" && d == registrable(host)
}

// parentOrChild reports whether one host is a domain above the other, public
// suffixes aside (rule 7).
func parentOrChild(a, b string) bool {
	if !strings.HasSuffix(a, "."+b) && !strings.HasSuffix(b, "."+a) {
		return false
	}
	d := registrable(a)
	return d != "" && d == registrable(b)
}
