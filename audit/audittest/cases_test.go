package audittest

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// The copies that a clone carries must be those that the specification's
// repository has, wherever both can be seen.
func TestCopiesEqualTheShared(t *testing.T) {
	shared := os.Getenv("AGENTAUDIT_SHARED")
	if shared == "" {
		shared = filepath.Join(Dir(""), "..", "..", "..", "..", "..", "shared")
	}
	from := filepath.Join(shared, "cases")
	if _, err := os.Stat(from); err != nil {
		t.Skipf("no shared cases at %s", from)
	}
	compareTrees(t, from, Dir(""), "is missing here or differs: copy it again")
	compareTrees(t, Dir(""), from, "is not among the shared cases")
}

func compareTrees(t *testing.T, from, to, complaint string) {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		a, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if b, err := os.ReadFile(filepath.Join(to, rel)); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s %s", rel, complaint)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A folder that no test walks would be passed over in silence.
func TestEveryFolderIsKnown(t *testing.T) {
	known := map[string]bool{"agents-txt": true, "agentic": true}
	for _, kind := range []string{"audit", "discover", "validate", "text", "bundle", "links"} {
		known["agentic/"+kind] = true
	}
	err := filepath.WalkDir(Dir(""), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != Dir("") {
			if rel, _ := filepath.Rel(Dir(""), path); !known[filepath.ToSlash(rel)] {
				t.Errorf("no test walks the folder %s", rel)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTextForms(t *testing.T) {
	for in, want := range map[string]string{
		`"a"`: "a",
		`{"repeat": {"text": {"join": ["a", {"hex": "62"}]}, "times": 2}}`:              "abab",
		`{"count": {"from": 8, "to": 10, "width": 2, "text": {"join": ["<{n}", ">"]}}}`: "<08><09><10>",
		`{"lines": ["x", {"join": ["y", "z"]}]}`:                                        "x\nyz\n",
		`{"base64": "aGk="}`:                                                            "hi",
		`{"json": {"a": 1}}`:                                                            `{"a": 1}`,
		`{"join": [{"repeat": {"hex": "ff", "times": 2}}, "{n}"]}`:                      "\xff\xff{n}",
	} {
		var x Text
		if err := json.Unmarshal([]byte(in), &x); err != nil || x.String() != want {
			t.Errorf("%s is %q, %v; want %q", in, x, err, want)
		}
	}
	var x Text
	if json.Unmarshal([]byte(`{"unknown": 1}`), &x) == nil {
		t.Error("an unknown form was accepted")
	}
}
