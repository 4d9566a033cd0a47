// Package audittest gives the tests of audit and the packages below it the
// case vectors: inputs with the right answers, one JSON file each. The
// README beside the vectors says what their members mean.
package audittest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Case is one vector of the agentic kinds. Input and Expect are decoded by
// the test of its kind with [Decode].
type Case struct {
	Name     string          `json:"name"`
	About    string          `json:"about"`
	Deviates string          `json:"deviates"`
	Input    json.RawMessage `json:"input"`
	Expect   json.RawMessage `json:"expect"`
}

// Dir is the folder of vectors of one kind, as in "agentic/audit".
func Dir(kind string) string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "testdata", "cases", filepath.FromSlash(kind))
}

// Run calls f in a parallel subtest for every vector of a kind. An unreadable
// file, an unknown member or an empty folder fails the test.
func Run(t *testing.T, kind string, f func(t *testing.T, c Case)) {
	t.Helper()
	entries, err := os.ReadDir(Dir(kind))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".json") {
			if e.Name() == "README.md" {
				continue
			}
			t.Fatalf("%s: not a vector", e.Name())
		}
		data, err := os.ReadFile(filepath.Join(Dir(kind), e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		var c Case
		Decode(t, data, &c)
		if c.Name+".json" != e.Name() {
			t.Fatalf("%s: its name says %q", e.Name(), c.Name)
		}
		n++
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			f(t, c)
		})
	}
	if n == 0 {
		t.Fatalf("no vectors of kind %s", kind)
	}
}

// Decode reads JSON strictly: an unknown member fails the test.
func Decode(t *testing.T, data []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in %.200s", err, data)
	}
}

// Text is a text of a vector in any of its forms: a string, or an object with
// repeat, hex, join, count, lines, base64 or json.
type Text []byte

// UnmarshalJSON expands the form.
func (x *Text) UnmarshalJSON(data []byte) error {
	b, err := expand(data)
	*x = b
	return err
}

// String is the text itself.
func (x Text) String() string { return string(x) }

func expand(data []byte) ([]byte, error) {
	if len(data) > 0 && data[0] == '"' {
		var s string
		err := json.Unmarshal(data, &s)
		return []byte(s), err
	}
	var form struct {
		Repeat *struct {
			Text  json.RawMessage `json:"text"`
			Hex   string          `json:"hex"`
			Times int             `json:"times"`
		} `json:"repeat"`
		Hex    *string           `json:"hex"`
		Join   []json.RawMessage `json:"join"`
		Lines  []json.RawMessage `json:"lines"`
		Base64 []byte            `json:"base64"`
		JSON   json.RawMessage   `json:"json"`
		Count  *struct {
			From  int             `json:"from"`
			To    int             `json:"to"`
			Width int             `json:"width"`
			Text  json.RawMessage `json:"text"`
		} `json:"count"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&form); err != nil {
		return nil, fmt.Errorf("text form: %w", err)
	}
	switch {
	case form.Repeat != nil:
		one, err := hex.DecodeString(form.Repeat.Hex)
		if form.Repeat.Text != nil {
			one, err = expand(form.Repeat.Text)
		}
		return bytes.Repeat(one, form.Repeat.Times), err
	case form.Hex != nil:
		return hex.DecodeString(*form.Hex)
	case form.Join != nil:
		return expandAll(form.Join, "")
	case form.Lines != nil:
		return expandAll(form.Lines, "\n")
	case form.Base64 != nil:
		return form.Base64, nil
	case form.JSON != nil:
		return form.JSON, nil
	case form.Count != nil:
		text, err := expand(form.Count.Text)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		for i := form.Count.From; i <= form.Count.To; i++ {
			n := fmt.Sprintf("%0*d", form.Count.Width, i)
			b.WriteString(strings.ReplaceAll(string(text), "{n}", n))
		}
		return b.Bytes(), nil
	}
	return nil, fmt.Errorf("text form without a known member: %.100s", data)
}

func expandAll(parts []json.RawMessage, after string) ([]byte, error) {
	var out []byte
	for _, p := range parts {
		b, err := expand(p)
		if err != nil {
			return nil, err
		}
		out = append(append(out, b...), after...)
	}
	return out, nil
}

// Expected is a text in an expectation: in full, or by length and hash.
type Expected struct {
	text []byte
	size int
	hash string
}

// UnmarshalJSON reads any form of [Text], or {"bytes", "sha256"}.
func (x *Expected) UnmarshalJSON(data []byte) error {
	var sum struct {
		Bytes  int    `json:"bytes"`
		SHA256 string `json:"sha256"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if d.Decode(&sum) == nil && sum.SHA256 != "" {
		x.size, x.hash = sum.Bytes, sum.SHA256
		return nil
	}
	b, err := expand(data)
	x.text = b
	return err
}

// Match returns "" where got is the expected text, else what differs.
func (x Expected) Match(got []byte) string {
	if x.hash != "" {
		sum := sha256.Sum256(got)
		if len(got) != x.size || hex.EncodeToString(sum[:]) != x.hash {
			return fmt.Sprintf("%d bytes with SHA-256 %x, want %d bytes with %s", len(got), sum, x.size, x.hash)
		}
		return ""
	}
	if !bytes.Equal(got, x.text) {
		return fmt.Sprintf("got\n%.3000q\nwant\n%.3000q", got, x.text)
	}
	return ""
}
