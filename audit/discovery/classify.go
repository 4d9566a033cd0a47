package discovery

import (
	"regexp"
	"strings"

	"agentaudit/audit/profile"
	"agentaudit/fetch/weburl"
)

// The patterns of the table in specification section 8, for paths in lower
// case.
var (
	agenticPath       = regexp.MustCompile(`(?:^|/)agentic\.json$`)
	mcpPath           = regexp.MustCompile(`/mcp(?:/|$)`)
	notMCPPath        = regexp.MustCompile(`/(?:docs|guides?|reference)/`)
	openapiPath       = regexp.MustCompile(`(?:openapi|swagger)[^/]*\.(?:json|ya?ml)$`)
	documentationPath = regexp.MustCompile(`/(?:docs?|developers?|reference|guides?|api-docs)(?:/|$)|\.(?:md|txt)$`)
	documentationName = regexp.MustCompile(`(?i)^(?:api documentation|documentation|developer docs)$`)
)

// classify says what a link leads to, by its path and then by its title; ""
// means nothing of interest.
func classify(u *weburl.URL, title string) profile.ResourceKind {
	path := strings.ToLower(u.Path())
	switch {
	case agenticPath.MatchString(path):
		return profile.KindAgentic
	case strings.HasSuffix(path, "/llms.txt") || strings.HasSuffix(path, "/llms-full.txt"):
		return profile.KindLLMs
	case strings.HasSuffix(path, "agent-card.json"):
		return profile.KindA2A
	case strings.HasSuffix(path, "/.well-known/agent-configuration"):
		return profile.KindAgentAuth
	case mcpPath.MatchString(path) && !notMCPPath.MatchString(path):
		return profile.KindMCP
	case openapiPath.MatchString(path):
		return profile.KindOpenAPI
	case documentationPath.MatchString(path) || documentationName.MatchString(title):
		return profile.KindDocumentation
	}
	return ""
}
