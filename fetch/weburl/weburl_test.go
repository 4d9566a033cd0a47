package weburl

import (
	"errors"
	"strings"
	"testing"
)

func TestParseTarget(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"https://EXAMPLE.com:443/a/../b", "https://example.com/b"},
		{" site.example ", "https://site.example/agentic.json"},
		{"//site.example/", "https://site.example/agentic.json"},
		{`https://site.example\agentic.json`, "https://site.example/agentic.json"},
		{"https://0x7f.1/", "https://127.0.0.1/agentic.json"},
		{"https://fähre.example/", "https://xn--fhre-loa.example/agentic.json"},
		{"https://site.example/agentic.json#", "https://site.example/agentic.json"},
		{"https://site.example/agentic.json?", "https://site.example/agentic.json"},
		{"HTTPS://site.example/x", "https://site.example/x"},
		{"https://si\tte.exa\nmple/x", "https://site.example/x"},
	} {
		u, err := ParseTarget(c.in)
		if err != nil || u.String() != c.want {
			t.Errorf("ParseTarget(%q) = %v, %v; want %s", c.in, u, err, c.want)
		}
	}
}

func TestParseTargetRefuses(t *testing.T) {
	for _, c := range []struct {
		in   string
		rule Rule
	}{
		{"", RuleEmpty}, {" \t\n ", RuleEmpty},
		{"ftp://site.example/", RuleScheme}, {"http://site.example/", RuleScheme},
		{"https://a:b@site.example/", RuleCredentials}, {"mailto:anna@site.example", RuleCredentials},
		{"https://site.example:8443/", RulePort}, {"https://site.example:99999/", RuleSyntax},
		{"https://site.example/?q=1", RuleQuery}, {"https://site.example/#a", RuleFragment},
		{"https://site example/", RuleSyntax},
		{"https://site.example/" + strings.Repeat("a", 2028), RuleTooLong},
		{strings.Repeat("@", 20000), RuleTooLong},
		// The appended file name counts.
		{"https://site.example/" + strings.Repeat("a", 2020) + "/", RuleTooLong},
	} {
		_, err := ParseTarget(c.in)
		var re *RuleError
		if !errors.As(err, &re) || re.Rule != c.rule {
			t.Errorf("ParseTarget(%.40q): %v, want rule %s", c.in, err, c.rule)
		}
	}
}

func TestCredentialsAreNotRepeated(t *testing.T) {
	_, err := ParseTarget("https://anna:hunter2@site.example/")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Fatalf("the message must not show the password: %v", err)
	}
}

func TestSiteLinkHosts(t *testing.T) {
	for _, in := range []string{
		"https://localhost/", "https://localhost./", "https://a.b.localhost/", "https://nas.local/", "https://nas.local./",
		"https://127.1/", "https://0x7f.0.0.1/", "https://3232235777/", "https://[::1]/", "https://[::ffff:7f00:1]/",
		"https://[2002:808:808::1]/", "https://[2001:0:1::1]/", "https://[64:ff9b::808:808]/", "https://255.255.255.255/",
		"docs", "/docs", "site.example/docs",
	} {
		if _, err := ParseSiteLink(in); err == nil {
			t.Errorf("ParseSiteLink(%q) was accepted", in)
		}
	}
	for _, in := range []string{"https://local/docs", "https://intranet/", "https://my_docs.example/docs", "https://8.8.4.4/", "https://[2001:4860:4860::8844]/"} {
		if _, err := ParseSiteLink(in); err != nil {
			t.Errorf("ParseSiteLink(%q): %v", in, err)
		}
	}
}

// A URL that was resolved against another has the same address as one that was
// written out.
func TestAddressAfterResolving(t *testing.T) {
	for _, in := range []string{"https://127.0.0.1/a", "https://0x7f.1/", "https://[::1]/a/b"} {
		base, err := Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		u, err := base.Resolve("b")
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := u.IP(); !ok || !a.IsLoopback() {
			t.Errorf("%s resolved from %s is at %v, %v", u, in, a, ok)
		}
		if CheckSiteLink(u) == nil {
			t.Errorf("%s passes as a site link", u)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"https://0x7f.1/", "site.example", "//[::1]", "https://a@b:443/?#", "https://xn--a/", strings.Repeat("\xbe", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseTarget(s)
		if err != nil {
			return
		}
		again, err := ParseTarget(u.String())
		if err != nil || again.String() != u.String() {
			t.Fatalf("%q -> %q -> %v, %v", s, u, again, err)
		}
		if u.Scheme() != "https" || u.Port() != "" || u.HasCredentials() || u.Query() != "" || u.Fragment() != "" {
			t.Fatalf("%q became %q", s, u)
		}
	})
}
