package readme

import (
	"errors"
	"slices"
	"testing"

	"agentaudit/audit/audittest"
	"agentaudit/fetch/weburl"
)

func mustURL(t testing.TB, raw string) *weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func locations(urls []*weburl.URL) []string {
	out := []string{}
	for _, u := range urls {
		out = append(out, u.Location())
	}
	slices.Sort(out)
	return out
}

func TestLinkVectors(t *testing.T) {
	audittest.Run(t, "agentic/links", func(t *testing.T, c audittest.Case) {
		var in struct {
			Readme audittest.Text `json:"readme"`
			Base   string         `json:"base"`
		}
		var want struct {
			Links    []string `json:"links"`
			Rejected bool     `json:"rejected"`
		}
		audittest.Decode(t, c.Input, &in)
		audittest.Decode(t, c.Expect, &want)
		got, notes, err := Links(in.Readme, mustURL(t, in.Base))
		var size *SizeError
		if errors.As(err, &size) != want.Rejected {
			t.Fatalf("error %v, want rejected: %t", err, want.Rejected)
		}
		if want.Rejected {
			return
		}
		slices.Sort(want.Links)
		if !slices.Equal(locations(got), want.Links) || notes != nil {
			t.Errorf("got  %q %v\nwant %q", locations(got), notes, want.Links)
		}
	})
}
