package writeback_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"agentaudit/worker/writeback"
)

func TestThreshold(t *testing.T) {
	for text, want := range map[string]string{"5": "5 0", "2%": "0 2", "5,2.5%": "5 2.5", " 1 , 50% ": "1 50"} {
		sites, percent, err := writeback.ParseThreshold(text)
		if got := fmt.Sprint(sites, " ", percent); err != nil || got != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "%", "x", "-1", "NaN%", "-5%", "1,", "1.5"} {
		if sites, percent, err := writeback.ParseThreshold(bad); err == nil {
			t.Errorf("%q is read as %d and %v", bad, sites, percent)
		}
	}
}

func TestRules(t *testing.T) {
	good := writeback.Rules{URL: "https://chat.example/hooks/s3cret", On: writeback.DefaultOn, Threshold: writeback.DefaultThreshold, Settle: time.Hour, ConfirmAfter: -1, Links: "https://audit.example/team/"}
	w, err := good.Webhook()
	if err != nil || w.URL != good.URL || !w.Finished || w.Regressed || w.MinSites != 1 || w.MinPercent != 0 || w.Settle != time.Hour || w.ConfirmAfter != -1 || w.Links != "https://audit.example/team" {
		t.Fatalf("%+v, %v", w, err)
	}
	for _, c := range [][2]string{{"finished", "5"}, {"regressed", "2.5%"}, {"finished,regressed", "5,0.1%"}} {
		r := good
		r.On, r.Threshold = c[0], c[1]
		if w, err := r.Webhook(); err != nil || writeback.On(w) != c[0] || writeback.Threshold(w) != c[1] {
			t.Errorf("%q became %+v, %v", c, w, err)
		}
	}
	for rule, spoil := range map[string]func(*writeback.Rules){
		writeback.RuleURL: func(r *writeback.Rules) { r.URL = "ftp://chat.example/s3cret" }, writeback.RuleOn: func(r *writeback.Rules) { r.On = "often" }, writeback.RuleThreshold: func(r *writeback.Rules) { r.Threshold = "0" },
		writeback.RuleSettle: func(r *writeback.Rules) { r.Settle = -1 }, writeback.RuleLinks: func(r *writeback.Rules) { r.Links = "audit" },
	} {
		r := good
		spoil(&r)
		_, err := r.Webhook()
		if bad, ok := errors.AsType[*writeback.RuleError](err); !ok || bad.Rule != rule || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", rule, err)
		}
	}
}
