package agentstxt

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentaudit/audit/audittest"
)

// seeds adds all bodies of the vectors of one form.
func seeds(f *testing.F, form Form) {
	files, err := filepath.Glob(filepath.Join(audittest.Dir("agents-txt"), "*.json"))
	if err != nil || len(files) == 0 {
		f.Fatal("no vectors", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		var c struct {
			Input struct {
				Responses map[string]vectorReply `json:"responses"`
			} `json:"input"`
		}
		if err := json.Unmarshal(data, &c); err != nil {
			f.Fatal(err)
		}
		for path, r := range c.Input.Responses {
			if strings.HasSuffix(path, ".json") == (form == JSONForm) {
				f.Add([]byte(r.Body))
			}
		}
	}
	if form == JSONForm {
		f.Add([]byte(goodJSON))
		for _, body := range hostileJSONs(2 << 10) {
			f.Add([]byte(body))
		}
		return
	}
	f.Add([]byte(fullText))
	for _, body := range hostileTexts(2 << 10) {
		f.Add([]byte(body))
	}
}

// FuzzText: whatever the bytes, judging ends with a well formed report, and a
// valid file survives printing and conversion.
func FuzzText(f *testing.F) {
	seeds(f, TextForm)
	f.Fuzz(func(t *testing.T, body []byte) {
		checkAny(t, TextPath, body)
		if d := ParseText(body); d.Valid() {
			roundTrip(t, d)
		}
		Answer(ParseText(body), "bot/1.0", "GET", "/api/find?x=1")
	})
}

// FuzzJSON is the same for the JSON form.
func FuzzJSON(f *testing.F) {
	seeds(f, JSONForm)
	f.Fuzz(func(t *testing.T, body []byte) {
		checkAny(t, JSONPath, body)
		if d := ParseJSON(body); d.Valid() {
			roundTrip(t, d)
		}
	})
}

func checkAny(t *testing.T, path string, body []byte) {
	rep := judgeBody(path, string(body))
	out, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	checkTexts(t, rep)
	lines := strings.Count(string(body), "\n") + strings.Count(string(body), "\r") + 1
	for _, c := range rep.Checks {
		if c.Line > lines || c.Column > len(body)+1 {
			t.Errorf("%s is at %d:%d of %d lines", c.ID, c.Line, c.Column, lines)
		}
	}
	// What is found as a credential is nowhere in the report.
	var d *Document
	if path == TextPath {
		d = ParseText(body)
	} else {
		d = ParseJSON(body)
	}
	if f := rep.Format; f == Absent {
		return
	}
	// The origin is ours; a secret that is a piece of it says nothing.
	shown := strings.ReplaceAll(string(out), "shop.example", "")
	for _, h := range scanDocument(d, time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)) {
		quoted, err := json.Marshal(h.secret)
		if err != nil {
			t.Fatal(err)
		}
		if len(h.secret) >= 8 && strings.Contains(shown, string(quoted[1:len(quoted)-1])) {
			t.Errorf("the report shows a %s", h.Kind)
		}
	}
}
