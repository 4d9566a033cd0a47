package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
	"agentaudit/store/storetest"
)

func testSites(t *testing.T, open opener) {
	clock := storetest.NewClock()
	s := open(t, store.Options{Now: clock.Now})
	outcomes := []report.Outcome{report.OutcomeFailed, report.OutcomeSuccessful, report.OutcomePartial}
	start := clock.Now()
	var targets []string
	for i := range 9 {
		targets = append(targets, fmt.Sprintf("https://%c%d.example/agentic.json", 'a'+i%3, i))
	}
	storetest.Batch(t, s, targets...)
	for i, target := range targets {
		due, err := s.TakeDue(t.Context(), store.ClassSmall, 1)
		if err != nil || len(due) != 1 {
			t.Fatalf("%v, %v", due, err)
		}
		c, err := s.ClaimRun(t.Context(), due[0].Run, "w", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if c.Target != target {
			t.Fatalf("run %d is %s, want %s", i, c.Target, target)
		}
		if err := s.FinishRun(t.Context(), c, storetest.Result(target, outcomes[i/3], report.ReasonComplete, clock.Add(time.Minute))); err != nil {
			t.Fatal(err)
		}
	}
	all := func(f store.SiteFilter, size int) (hosts []string) {
		t.Helper()
		cursor := ""
		for {
			p, err := s.Sites(t.Context(), f, cursor, size)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range p.Sites {
				hosts = append(hosts, v.Host[:2])
			}
			if cursor = p.Next; cursor == "" {
				return hosts
			}
		}
	}
	for _, c := range []struct {
		f    store.SiteFilter
		want []string
	}{
		{store.SiteFilter{}, []string{"a0", "a3", "a6", "b1", "b4", "b7", "c2", "c5", "c8"}},
		{store.SiteFilter{Outcome: report.OutcomeFailed}, []string{"a0", "b1", "c2"}},
		{store.SiteFilter{Host: "b"}, []string{"b1", "b4", "b7"}},
		{store.SiteFilter{Host: "b4.ex", Outcome: report.OutcomeSuccessful}, []string{"b4"}},
		{store.SiteFilter{Host: "b4.ex", Outcome: report.OutcomeFailed}, nil},
		{store.SiteFilter{Order: store.ByChange}, []string{"c8", "b7", "a6", "c5", "b4", "a3", "c2", "b1", "a0"}},
		{store.SiteFilter{Order: store.ByChange, Outcome: report.OutcomeFailed}, []string{"c2", "b1", "a0"}},
		{store.SiteFilter{Order: store.ByChange, ChangedSince: start.Add(8 * time.Minute)}, []string{"c8", "b7"}},
	} {
		for _, size := range []int{1, 2, 3, 100} {
			if got := all(c.f, size); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v by %d: %q, want %q", c.f, size, got, c.want)
			}
		}
	}
	p, err := s.Sites(t.Context(), store.SiteFilter{Host: "a0"}, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	one, err := s.Site(t.Context(), targets[0])
	if err != nil || !reflect.DeepEqual(p.Sites[0], *one) {
		t.Errorf("the list says %+v, the site %+v, %v", p.Sites[0], one, err)
	}
	for _, bad := range []string{"x", "00.a", "zz", "00112233445566778899aabbccddeeff"} {
		if _, err := s.Sites(t.Context(), store.SiteFilter{}, bad, 1); !errors.Is(err, store.ErrCursor) {
			t.Errorf("cursor %q: %v", bad, err)
		}
	}
	if _, err := s.Sites(t.Context(), store.SiteFilter{Order: store.ByChange}, "00112233445566778899aabbccddeeff.a.example", 1); !errors.Is(err, store.ErrCursor) {
		t.Errorf("a cursor of another order: %v", err)
	}
}
