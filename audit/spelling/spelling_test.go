package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	list := []string{"audit", "agents", "discover", "run", "results", "resume", "retry", "db", "mcp", "schedule", "Rate-Limit", strings.Repeat("x", 60)}
	for word, want := range map[string]string{
		"audit":                 "audit",
		"audti":                 "audit", // swapped
		"adit":                  "audit",
		"aaudit":                "audit",
		"AUDIT":                 "audit",
		"rate-limt":             "Rate-Limit",
		"reslts":                "results",
		"resluts":               "results",
		"discvoer":              "discover",
		"dsicvoer":              "discover", // two swaps
		"rnu":                   "run",
		"schedul":               "schedule",
		"sched":                 "",       // three letters are missing
		"rum":                   "run",    // one in three
		"rom":                   "",       // two in three
		"d":                     "",       // db would be all of it
		"mc":                    "mcp",    //
		"agentic":               "agents", //
		"banana":                "",       // another word
		"":                      "",       //
		"resue":                 "resume", // nearer than results
		strings.Repeat("x", 41): "",
		strings.Repeat("x", 58): "",
	} {
		if got := Nearest(word, list); got != want {
			t.Errorf("%q means %q, want %q", word, got, want)
		}
	}
	if got := Nearest("abd", []string{"abc", "abe"}); got != "abc" {
		t.Errorf("of two that are as near %q is meant", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"ab", "ba", 1}, {"abc", "cab", 2}, {"kitten", "sitting", 3}, {"ca", "abc", 3}, {"abcd", "badc", 2}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
