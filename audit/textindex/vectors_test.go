package textindex

import (
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
		audittest.Decode(t, c.Input, &in)
		var expect struct {
			Text     *audittest.Expected `json:"text"`
			Rejected bool                `json:"rejected"`
		}
		audittest.Decode(t, c.Expect, &expect)

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
