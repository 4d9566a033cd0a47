package publication

import (
	"strings"
	"testing"

	"agentaudit/audit/profile"
)

func TestAStarterIsAValidProfile(t *testing.T) {
	for in, origin := range map[string]string{
		"https://service.example": "https://service.example", " HTTPS://Service.Example:443/ ": "https://service.example", "https://fähre.example": "https://xn--fhre-loa.example",
	} {
		text, err := Starter(in, "", profile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f, err := bundleText([]byte(text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if f.JSON != text {
			t.Errorf("the starter is not written as profiles are:\n%s", text)
		}
		if !strings.Contains(text, `"origin": "`+origin+`"`) || !strings.Contains(text, `"id": "create-ticket"`) {
			t.Errorf("%s", text)
		}
		checkReadme(t, f, profileURL(t, f))
	}
}

func TestAStarterRefusesWhatNoProfileMayHave(t *testing.T) {
	for _, tc := range []struct {
		origin, id, want string
		local            bool
	}{
		{"", "", "origin", false}, {"service.example", "", "origin", false}, {"https://a.example/x", "", "path", false}, {"https://a.example/?q", "", "path", false},
		{"https://a:b@a.example", "", "credentials", false}, {"http://a.example", "", "origin", false}, {"http://localhost:3000", "", "origin", false},
		{"https://a.example", "1x", "action id", false}, {"https://a.example", "a b", "action id", false}, {"https://a.example", `"x`, "action id", false},
	} {
		if text, err := Starter(tc.origin, tc.id, profile.Options{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q, %q: %v\n%s", tc.origin, tc.id, err, text)
		}
	}
	if _, err := Starter("http://localhost:3000", "my-action", profile.Options{AllowLocal: true}); err != nil {
		t.Error(err)
	}
}
