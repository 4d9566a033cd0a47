package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"agentaudit/audit/openapi"
	"agentaudit/audit/profile"
	"agentaudit/audit/publication"
)

type specOutput struct {
	Site   specPart `json:"site"`
	Action specPart `json:"action"`
	// Limits and Further are about both.
	Publication []string `json:"publication" jsonschema:"what a site publishes, and how"`
	Further     []string `json:"further" jsonschema:"pages of the convention"`
}

type specPart struct {
	Name    string          `json:"name"`
	Version string          `json:"version"`
	Schema  json.RawMessage `json:"schema" jsonschema:"JSON Schema, draft 2020-12"`
	Rules   []string        `json:"rules" jsonschema:"what the schema cannot say"`
}

// The rules in our own words (specification sections 3 and 4; seed SITE-PROFILE
// and SPEC).
var (
	siteRules = []string{
		"origin is the https origin that serves the file, exactly as a URL parser writes it",
		"at least one resource is retrieved",
		"every url and source is an absolute https URL on the standard port, without credentials or fragment, not on a local or private host",
		"no two resources have the same kind and url",
		"every api document is a retrieved resource of kind openapi",
		"operation paths begin with one slash and hold no ?, # or backslash; no two operations of an API have the same method and path",
		"the compact JSON is at most 65,536 bytes; no member name stands twice in an object",
	}
	actionRules = []string{
		"origin is the https origin that serves the file, exactly as a URL parser writes it",
		"action ids are unique",
		"openapi is a path on the same origin, without . or .. segments, %, ?, # or backslash",
		"submit, status and verify are three different operation ids, each of which stands exactly once in the OpenAPI 3.1 document",
		"submit is a POST without path parameters, with a JSON request body and a required header parameter Idempotency-Key",
		"status and verify are GETs whose path has exactly the one parameter that bindings name",
		"the OpenAPI document has no servers of its own",
		"the file is at most 65,536 bytes; no member name stands twice in an object",
	}
	publicationRules = []string{
		"agentic.json, served as application/json with status 200 and without a redirect, decides",
		"agentic.txt beside it is generated from it and served as text/plain",
		"README.md beside it links to both files, to https://ruagentic.org and to https://ruagentic.com",
	}
	furtherPages = []string{
		"https://ruagentic.org/docs/SITE-PROFILE.md", "https://ruagentic.org/docs/SPEC.md", "https://ruagentic.org/docs/PUBLICATION.md",
		"https://ruagentic.org/docs/AGENTIC-TXT.md", "https://ruagentic.org/docs/AUDIT.md",
	}
)

func (t *tools) spec(context.Context, struct{}) (*specOutput, error) {
	return &specOutput{
		Site:        specPart{"Agentic Site Profile", profile.SiteVersion, json.RawMessage(profile.SiteSchema), siteRules},
		Action:      specPart{"Agentic Action Profile", "1.0.0", json.RawMessage(profile.ActionSchema), actionRules},
		Publication: publicationRules, Further: furtherPages,
	}, nil
}

type generateInput struct {
	Origin   string `json:"origin" jsonschema:"the origin of the service, as in https://service.example"`
	ActionID string `json:"actionId,omitempty" jsonschema:"the id of the action: letters, digits, _ and -, beginning with a letter (default: create-ticket)"`
}

type generateOutput struct {
	Profile    json.RawMessage    `json:"profile"`
	Validation *openapi.Verdict   `json:"validation"`
	Files      *publication.Files `json:"files" jsonschema:"the four files of a publication, by name"`
	Notes      []string           `json:"notes"`
}

func (t *tools) generate(ctx context.Context, in generateInput) (*generateOutput, error) {
	text, err := publication.Starter(in.Origin, in.ActionID, profile.Options{})
	if err != nil {
		return nil, fmt.Errorf("%w. Give origin as in https://service.example, and actionId, if at all, as in create-ticket", err)
	}
	doc, err := profile.Decode([]byte(text))
	if err != nil {
		return nil, t.ours(ctx, err)
	}
	files, err := publication.Bundle(doc, publication.Options{})
	if err != nil {
		return nil, t.ours(ctx, err)
	}
	return &generateOutput{
		Profile: json.RawMessage(files.JSON), Validation: openapi.ValidateFiles(openapi.Files{Profile: []byte(text)}), Files: files,
		Notes: []string{"This is the contract of an example. Replace its operations, evidence and times by those of the service before it is published, then validate it with the service's OpenAPI document."},
	}, nil
}

type validateInput struct {
	Profile string `json:"profile" jsonschema:"the text of an agentic.json, at most 65,536 bytes"`
	OpenAPI string `json:"openapi,omitempty" jsonschema:"the text of the OpenAPI document as JSON, at most 262,144 bytes"`
}

func (t *tools) validate(_ context.Context, in validateInput) (*openapi.Verdict, error) {
	if n := len(in.Profile); n > profile.MaxSize {
		return nil, fmt.Errorf("profile has %d bytes; the limit is %d. Shorten it: a profile over the limit cannot be published either", n, profile.MaxSize)
	}
	if n := len(in.OpenAPI); n > profile.MaxOpenAPISize {
		return nil, fmt.Errorf("openapi has %d bytes; the limit is %d. Give a document with the operations of the profile alone", n, profile.MaxOpenAPISize)
	}
	return openapi.ValidateFiles(openapi.Files{Profile: []byte(in.Profile), OpenAPI: []byte(in.OpenAPI), HasOpenAPI: in.OpenAPI != ""}), nil
}
