package textindex

import (
	"encoding/json"
	"testing"

	"agentaudit/audit/audittest"
	"agentaudit/audit/profile"
)

func TestVectors(t *testing.T) {
	audittest.Run(t, "agentic/text", func(t *testing.T, c audittest.Case) {
		var in struct {
			ProfileText audittest.Text  `json:"profileText"`
			ProfileURL  *audittest.Text `json:"profileUrl"`
			Legacy      bool            `json:"legacy"`
			AllowLocal  bool            `json:"allowLocal"`
		}
		audittest.Decode(t, flatCounts(t, c.Input), &in)
		var expect struct {
			Text     *audittest.Expected `json:"text"`
			Rejected bool                `json:"rejected"`
		}
		audittest.Decode(t, flatCounts(t, c.Expect), &expect)

		got, err := textOf(in.ProfileText, in.ProfileURL, in.Legacy, in.AllowLocal)
		switch {
		case expect.Rejected == (expect.Text != nil):
			t.Fatal("the vector expects neither or both")
		case expect.Rejected && err == nil:
			t.Errorf("not rejected:\n%s", got)
		case expect.Text != nil && err != nil:
			t.Error(err)
		case expect.Text != nil:
			if diff := expect.Text.Match(got); diff != "" {
				t.Error(diff)
			}
		}
	})
}

// textOf goes the way of the text command.
func textOf(data []byte, url *audittest.Text, legacy, local bool) ([]byte, error) {
	if err := profile.CheckSize(data); err != nil {
		return nil, err
	}
	d, err := profile.Decode(data)
	if err != nil {
		return nil, err
	}
	v := d.Validate(profile.Options{AllowLocal: local})
	if !v.Valid() {
		return nil, v.Err()
	}
	location := DefaultURL(v.Profile)
	if url != nil {
		location = url.String()
	}
	form := Publication
	if legacy {
		form = Legacy
	}
	return Build(v.Profile, location, form)
}

// flatCounts expands the text of each count, so that it is a plain string.
func flatCounts(t *testing.T, data []byte) []byte {
	var root any
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for _, item := range v {
				walk(item)
			}
			if count, ok := v["count"].(map[string]any); ok {
				raw, err := json.Marshal(count["text"])
				if err != nil {
					t.Fatal(err)
				}
				var text audittest.Text
				audittest.Decode(t, raw, &text)
				count["text"] = text.String()
			}
		}
	}
	walk(root)
	out, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
