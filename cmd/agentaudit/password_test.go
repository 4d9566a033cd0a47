package main

import (
	"bytes"
	"strings"
	"testing"

	"agentaudit/dashboard/signin"
)

func TestPasswordMakesALineThatSignsIn(t *testing.T) {
	for _, c := range []struct {
		args, in, name, password string
	}{
		{"password anna", "correct horse battery\n", "anna", "correct horse battery"},
		{"password", " spaces stay \r\n", "admin", " spaces stay "},
		{"password", "no end of line", "admin", "no end of line"},
	} {
		var out, stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields("agentaudit "+c.args), streams{In: strings.NewReader(c.in), Out: &out, Err: &stderr}); code != 0 {
			t.Fatalf("%s: exit code %d: %s", c.args, code, &stderr)
		}
		u, err := signin.Parse(out.String())
		if err != nil || !u.Check(c.name, c.password) || u.Check(c.name, strings.TrimSpace(c.password)+"x") {
			t.Errorf("%s: %q does not let %s in: %v", c.args, out.String(), c.name, err)
		}
		if strings.Contains(out.String()+stderr.String(), c.password) {
			t.Error("the password is shown")
		}
	}
}

func TestPasswordRefusesWhatCannotSignIn(t *testing.T) {
	for _, c := range []struct{ args, in, says string }{
		{"password", "short", "at least 10"},
		{"password", "", "no password on standard input"},
		{"password a:b", "correct horse battery", "cannot be the name"},
		{"password a b", "correct horse battery", "takes one name"},
		{"password", strings.Repeat("x", 5000), "at most 1024"},
	} {
		var out, stderr bytes.Buffer
		code := run(t.Context(), strings.Fields("agentaudit "+c.args), streams{In: strings.NewReader(c.in), Out: &out, Err: &stderr})
		if code != 2 || out.Len() > 0 || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%s: exit code %d, %q, %q", c.args, code, &out, &stderr)
		}
	}
}
