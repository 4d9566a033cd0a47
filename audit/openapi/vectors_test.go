package openapi

import (
	"slices"
	"testing"

	"agentaudit/audit/audittest"
)

func TestVectors(t *testing.T) {
	audittest.Run(t, "agentic/validate", func(t *testing.T, c audittest.Case) {
		var in struct {
			ProfileText audittest.Text  `json:"profileText"`
			OpenAPIText *audittest.Text `json:"openapiText"`
			AllowLocal  bool            `json:"allowLocal"`
		}
		audittest.Decode(t, c.Input, &in)
		var expect struct {
			Valid    *bool    `json:"valid"`
			Pointers []string `json:"pointers"`
		}
		audittest.Decode(t, c.Expect, &expect)

		f := Files{Profile: in.ProfileText, AllowLocal: in.AllowLocal}
		if in.OpenAPIText != nil {
			f.OpenAPI, f.HasOpenAPI = *in.OpenAPIText, true
		}
		got := ValidateFiles(f)
		if got.Valid != *expect.Valid {
			t.Errorf("valid %v: %+v", got.Valid, got.Errors)
		}
		if expect.Pointers != nil {
			var pointers []string
			for _, e := range got.Errors {
				pointers = append(pointers, e.Pointer)
			}
			slices.Sort(pointers)
			if pointers = slices.Compact(pointers); !slices.Equal(pointers, expect.Pointers) {
				t.Errorf("the errors name %q, want %q: %+v", pointers, expect.Pointers, got.Errors)
			}
		}
	})
}
