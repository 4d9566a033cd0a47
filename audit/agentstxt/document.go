package agentstxt

import "strings"

// Form is one of the two forms of a declaration.
type Form string

// The forms.
const (
	TextForm Form = "text"
	JSONForm Form = "json"
)

// Document is one parsed file: the declaration, where everything stands and
// what the parser itself found. It is immutable once parsed.
type Document struct {
	Form Form
	// Declaration holds what could be read. Values that had to be thrown away
	// (an unreadable Rate-Limit, a member of a wrong type) are in Losses.
	Declaration Declaration
	// Losses are the values that Declaration does not hold.
	Losses []Loss
	// Comments counts the comment lines of the text form.
	Comments int

	src      *source
	findings findings
	// legacy is the version in a comment, which old files have for a header.
	legacy Text
	// broken: the JSON does not parse or is no object.
	broken bool
	// The JSON has the member or an item of it in a wrong type: what is missing
	// from it cannot be told.
	capabilitiesWrong, agentsWrong, operatesWrong bool

	root     *node
	closed   []Text // all values of closed lists as written, for the credential scan
	params   []Text // the items between the parentheses of every Param
	freeText []span // lines or values that may hold prose
}

// span is a piece of text and where it stands.
type span struct {
	name   string // the field or member name, "" for a comment
	text   string
	offset int
}

// Loss is a value that one form or the model cannot hold.
type Loss struct {
	// Line and Column are where it stands, from 1; 0 for the file as a whole.
	Line, Column int
	// What says in a sentence what is not carried over, without its value.
	What string
}

// maxLosses bounds the list; the last entry says how many more there were.
const maxLosses = 1000

func (d *Document) lose(offset int, what string) {
	d.Losses = appendLoss(d.Losses, d.src, offset, what)
}

func appendLoss(list []Loss, src *source, offset int, what string) []Loss {
	switch {
	case len(list) < maxLosses:
		l := Loss{What: what}
		if src != nil && offset >= 0 {
			l.Line, l.Column = src.position(offset)
		}
		return append(list, l)
	case len(list) == maxLosses:
		return append(list, Loss{What: "and more of the kind"})
	}
	return list
}

// Position is where a value of this document stands: line and column, both
// from 1; columns count characters.
func (d *Document) Position(t Text) (line, column int) { return d.src.position(t.offset) }

// Line is the text of a line, counted from 1, without its line end; "" where
// there is no such line.
func (d *Document) Line(n int) string {
	if n < 1 || n > len(d.src.starts) {
		return ""
	}
	return d.src.line(n - 1)
}

// Valid reports whether no rule of section 4 fails in the file by itself: no
// serving, no clock, no second form is looked at.
func (d *Document) Valid() bool {
	f := judgeDocument(d, rulesInput{})
	for _, x := range f.list {
		if x.severity == Fail {
			return false
		}
	}
	return true
}

func (d *Document) add(id string, severity Severity, offset int, format string, args ...any) *finding {
	return d.findings.add(id, severity, offset, format, args...)
}

// field is a field under its names in the two forms.
type field struct {
	text string
	json string // the path inside its object, as in "auth.type"
	top  bool   // a top-level field of the text form
}

var (
	fSpecVersion     = field{"Spec-Version", "specVersion", true}
	fGeneratedAt     = field{"Generated-At", "generatedAt", true}
	fDeclarationType = field{"Declaration-Type", "declarationType", true}
	fOperatesOn      = field{"Operates-On", "operatesOn", true}
	fSiteName        = field{"Site-Name", "site.name", true}
	fSiteURL         = field{"Site-URL", "site.url", true}
	fSiteDescription = field{"Site-Description", "site.description", true}
	fSiteContact     = field{"Site-Contact", "site.contact", true}
	fPrivacyPolicy   = field{"Site-Privacy-Policy", "site.privacyPolicy", true}
	fAgentsJSON      = field{"Agents-JSON", "metadata.Agents-JSON", true}
	fAllow           = field{"Allow", "access.allow", true}
	fDisallow        = field{"Disallow", "access.disallow", true}
	fCapability      = field{"Capability", "id", true}
	fAgent           = field{"Agent", "agents", true}

	fEndpoint     = field{"Endpoint", "endpoint", false}
	fProtocol     = field{"Protocol", "protocol", false}
	fMethod       = field{"Method", "method", false}
	fAuth         = field{"Auth", "auth.type", false}
	fAuthEndpoint = field{"Auth-Endpoint", "auth.tokenEndpoint", false}
	fAuthDocs     = field{"Auth-Docs", "auth.docsUrl", false}
	fScopes       = field{"Scopes", "scopes", false}
	fRateLimit    = field{"Rate-Limit", "rateLimit", false}
	fDescription  = field{"Description", "description", false}
	fOpenAPI      = field{"OpenAPI", "openapi", false}
	fParam        = field{"Param", "parameters", false}

	fCapabilities     = field{"Capabilities", "capabilities", false}
	fAgentDeclaration = field{"Agent-Declaration", "agentDeclaration", false}
)

// lists are the fields that are lists in JSON.
var lists = map[field]bool{fOperatesOn: true, fAllow: true, fDisallow: true, fScopes: true}

// inline is like write, for the middle of a sentence.
func (d *Document) inline(f field, value string) string { return strings.TrimSpace(d.write(f, value)) }

// name is what the field is called in this document.
func (d *Document) name(f field) string {
	if d.Form == JSONForm {
		return f.json
	}
	return f.text
}

// write is the line (text) or member (JSON) that gives the field a value.
func (d *Document) write(f field, value string) string {
	if d.Form == JSONForm {
		name := f.json[strings.LastIndexByte(f.json, '.')+1:]
		if lists[f] {
			var items []string
			for item := range strings.SplitSeq(value, ", ") {
				items = append(items, quoteJSON(item))
			}
			return `"` + name + `": [` + strings.Join(items, ", ") + "]"
		}
		return `"` + name + `": ` + quoteJSON(value)
	}
	if f.top {
		return f.text + ": " + value
	}
	return "  " + f.text + ": " + value
}
