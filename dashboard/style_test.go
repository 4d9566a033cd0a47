package dashboard

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestScriptIsSmall(t *testing.T) {
	s := serve(t, Config{Store: noParts{}})
	if n := strings.Count(string(s.assets.files["live.js"]), "\n"); n > 200 {
		t.Errorf("the script has %d lines, at most 200 are wanted", n)
	}
}

// The colours of the style sheet keep their contrast, in both schemes.
func TestContrast(t *testing.T) {
	s := serve(t, Config{Store: noParts{}})
	css := string(s.assets.files["style.css"])
	blocks := regexp.MustCompile(`(?s):root \{(.*?)\}`).FindAllStringSubmatch(css, 2)
	light := map[string]string{}
	for i, block := range blocks {
		for _, m := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(block[1], -1) {
			light[m[1]] = m[2] // the second block overrides the first
		}
		for _, pair := range []struct {
			least float64
			ink   string
			on    string
		}{
			{4.5, "text", "ground panel sunk ok-soft part-soft bad-soft none-soft"}, {4.5, "quiet", "ground panel sunk"}, {4.5, "link", "ground panel sunk"}, {4.5, "on-main", "main"},
			{4.5, "ok-text", "panel ok-soft"}, {4.5, "part-text", "panel part-soft"}, {4.5, "bad-text", "panel bad-soft"}, {4.5, "none-text", "panel none-soft"},
			{3, "ok", "panel sunk"}, {3, "part", "panel sunk"}, {3, "bad", "panel sunk"}, {3, "none", "panel sunk"}, {3, "field", "panel ground"}, {3, "focus", "ground panel sunk"},
		} {
			for on := range strings.FieldsSeq(pair.on) {
				if got := contrast(t, light[pair.ink], light[on]); got < pair.least {
					t.Errorf("scheme %d: %s on %s has %.2f, want %.1f", i, pair.ink, on, got, pair.least)
				}
			}
		}
	}
	if len(blocks) != 2 {
		t.Fatalf("%d lists of colours", len(blocks))
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	light := func(hex string) float64 {
		if len(hex) != 7 {
			t.Fatalf("%q is no colour", hex)
		}
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			sum += weight * linear(float64(n)/255)
		}
		return sum
	}
	x, y := light(a), light(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}
