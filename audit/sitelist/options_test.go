package sitelist

import (
	"encoding/json"
	"testing"
)

// Options are kept with batches and shown by the API; those of batches that are
// older than their present spelling are read as well.
func TestOptionsSpelling(t *testing.T) {
	want := Options{Format: "csv", Column: "c", Pointer: "/p", IDColumn: "i", LabelColumn: "l", TagColumn: "t", ReadmeColumn: "r"}
	const now = `{"format":"csv","column":"c","pointer":"/p","idColumn":"i","labelColumn":"l","tagColumn":"t","readmeColumn":"r"}`
	if b, err := json.Marshal(want); err != nil || string(b) != now {
		t.Errorf("%s, %v", b, err)
	}
	for _, spelling := range []string{now, `{"Format":"csv","Column":"c","Pointer":"/p","IDColumn":"i","LabelColumn":"l","TagColumn":"t","ReadmeColumn":"r"}`} {
		var got Options
		if err := json.Unmarshal([]byte(spelling), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", spelling, got, err)
		}
	}
}
