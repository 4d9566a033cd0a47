package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"agentaudit/audit/agentstxt"
	"agentaudit/audit/profile"
	"agentaudit/audit/publication"
)

// selfFile is a file by which the service presents itself to agents.
type selfFile struct{ contentType, content string }

// aboutName is the documentation that the profile of the service names.
const aboutName = "about.md"

// selfFiles are the publication of the dashboard itself, by path below the base
// path: what it asks of others it does. It has one where the world reaches it
// by https.
func selfFiles(public *url.URL, tools bool) (map[string]selfFile, error) {
	if public == nil || public.Scheme != "https" {
		return nil, nil
	}
	origin := public.Scheme + "://" + public.Host
	at := origin + public.Path + "/"
	resources := []any{
		map[string]any{"kind": "documentation", "url": at + aboutName, "source": at + publication.NameReadme, "availability": "retrieved", "title": "What this service is and how to use it"},
		// Its operations are not listed: they are more than a profile holds of
		// interest to those who have no token.
		map[string]any{"kind": "openapi", "url": at + "openapi.json", "source": at + aboutName, "availability": "linked", "title": "The API, for those who have a token"},
	}
	if tools {
		resources = append(resources, map[string]any{"kind": "mcp", "url": origin + public.Path + mcpPath, "source": at + aboutName, "availability": "linked", "title": "The tools, for agents that have a token"})
	}
	value, err := json.Marshal(map[string]any{
		"agentic": "1.1.0", "type": "site", "origin": origin, "name": "agentaudit",
		"description": "Audits websites for the files by which they present themselves to AI agents. Results are for those who have signed in; badges are for everybody.",
		"resources":   resources,
		"apis":        []any{},
	})
	if err != nil {
		return nil, err
	}
	doc, err := profile.Decode(value)
	if err != nil {
		return nil, fmt.Errorf("dashboard: its own agentic.json: %w", err)
	}
	files, err := publication.Bundle(doc, publication.Options{ProfileURL: at + publication.NameJSON})
	if err != nil {
		return nil, fmt.Errorf("dashboard: its own agentic.json: %w", err)
	}
	agents := "Spec-Version: 1.0\nSite-Name: agentaudit\nSite-URL: " + origin + "\nSite-Description: Audits what websites publish for AI agents\n\n" +
		"Capability: badge\n  Endpoint: " + at + "badge.json\n  Protocol: REST\n  Method: GET\n  Description: The outcome of the last audit of a site, by its address in the parameter target\n  Auth: none\n\n" +
		"Allow: " + public.Path + "/badge.json\nAllow: " + public.Path + "/badge.svg\nDisallow: " + public.Path + "/share/\n\nAgent: *\n"
	asJSON, losses := agentstxt.ParseText([]byte(agents)).Convert(agentstxt.JSONForm)
	if len(losses) > 0 {
		return nil, fmt.Errorf("dashboard: its own agents.txt cannot be said as JSON: %+v", losses)
	}
	return map[string]selfFile{
		"/" + publication.NameJSON:   {publication.TypeJSON, files.JSON},
		"/" + publication.NameText:   {publication.TypeText, files.Text},
		"/" + publication.NameReadme: {publication.TypeMarkdown, files.Readme},
		"/" + aboutName:              {publication.TypeMarkdown, about(at, tools)},
		"/agents.txt":                {publication.TypeText, agents},
		agentstxt.TextPath:           {publication.TypeText, agents},
		agentstxt.JSONPath:           {publication.TypeJSON, string(asJSON)},
	}, nil
}

func about(at string, tools bool) string {
	text := `# agentaudit

This service audits websites for the files by which they present themselves to AI agents: agentic.json, agentic.txt, README.md, the OpenAPI
documents behind them, and agents.txt. It reads public files only.

## For everybody

- ` + at + `badge.json?target=SITE: the outcome of the last audit of a site and its day, as JSON for shields.io.
- ` + at + `badge.svg?target=SITE: the same as a picture.

A site that was never audited answers as one without a verdict.

## For those who have a token

Send it as "Authorization: Bearer TOKEN". The operator of this service makes tokens.

- ` + at + `openapi.json: the description of the API, an OpenAPI document.
`
	if tools {
		text += "- " + strings.TrimSuffix(at, "/") + mcpPath + ": the same for agents, as tools of the Model Context Protocol.\n"
	}
	return text
}

// self serves one of these files to all who come.
func (s *Server) self(f selfFile) func(w http.ResponseWriter, r *http.Request) error {
	return func(w http.ResponseWriter, _ *http.Request) error {
		h := w.Header()
		h.Set("Content-Type", f.contentType)
		h.Set("Cache-Control", "public, max-age=300")
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		h.Del("X-Robots-Tag")
		_, _ = w.Write([]byte(f.content))
		return nil
	}
}
