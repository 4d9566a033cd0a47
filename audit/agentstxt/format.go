package agentstxt

import "strings"

// Format names what a file is (section 9).
type Format string

// The formats besides "other:NAME".
const (
	Draft        Format = "draft"
	Unrecognised Format = "unrecognised"
	Absent       Format = "absent"
	// Unchecked: the site gave no definite answer.
	Unchecked Format = "unchecked"
)

const otherPrefix = "other:"

// Other reports whether the file is of another known format, and of which.
func (f Format) Other() (name string, ok bool) { return strings.CutPrefix(string(f), otherPrefix) }

// capabilityLookAlike is close enough to the draft to be judged like it.
const capabilityLookAlike Format = otherPrefix + "capability-look-alike"

// formatTitles says in plain words what the other formats are.
var formatTitles = map[string]string{
	"json-body":             "a JSON document where text belongs",
	"pointer-stub":          "a pointer to another place",
	"srijal":                "the policy file of draft-srijal-agents-policy (expired)",
	"agents-txt.com":        "the format of agents-txt.com and agentstxt.dev",
	"jaspervanveen":         "the jaspervanveen format (later agent-manifest.txt)",
	"agents-protocol":       "the agents-protocol format",
	"agent-action-policy":   "an Agent Action Policy",
	"asturwebs":             "the asturwebs 2.0 format",
	"crashland66":           "the crashland66 format",
	"dennj":                 "the dennj format of 2025",
	"agent-layer":           "the output of the agent-layer generator",
	"actorial":              "the output of the actorial generator",
	"adp":                   "an ADP/1.0 policy",
	"action-words":          "a list of allowed action words",
	"agentnav":              "an AgentNav index",
	"capability-look-alike": "close to the draft, but its capabilities have no Endpoint and no Protocol",
	"robots":                "robots.txt rules",
	"yaml":                  "a YAML document",
	"markdown":              "a Markdown document",
	"ad-hoc":                "fields of the site's own",
	"unrelated-data":        "a data file that has nothing to do with agents' permissions",
	"wild-card":             "a wild-card-ai agents.json",
	"a2a-agent-card":        "an A2A agent card",
	"agentlookup-v1":        "an agentlookup-v1 directory",
	"agent-directory":       "a directory of agents",
	"leonting1010":          "the LeonTing1010 format",
	"jmilinovich":           "the jmilinovich format",
	"lando22":               "the lando22 format",
	"aos":                   "an AOS manifest",
	"openai-plugin":         "an OpenAI plugin manifest",
	"ai-catalog":            "an AI catalog",
	"vendor-schema":         "a document with a schema of its own",
}

// isHTML reports whether a body is an HTML page by its first character.
func isHTML(text string) bool { return strings.HasPrefix(trim(text), "<") }
