package profile

import (
	"agentaudit/audit/jsontree"
	"agentaudit/fetch/weburl"
)

// Limits of a site profile (specification section 3); lengths are in code
// points.
const (
	SiteVersion          = "1.1.0"
	MaxURLLength         = 2048
	MaxNameLength        = 160
	MaxDescriptionLength = 600
	MaxTitleLength       = 160
	MaxResources         = 40
	MaxAPIs              = 5
	MaxOpenAPILength     = 32
	MaxOperations        = 160
	MaxPathLength        = 512
	MaxOperationIDLength = 160
	MaxSummaryLength     = 240
)

// ResourceKind says what a resource is.
type ResourceKind string

// The eight kinds of resources.
const (
	KindWebsite       ResourceKind = "website"
	KindDocumentation ResourceKind = "documentation"
	KindLLMs          ResourceKind = "llms"
	KindOpenAPI       ResourceKind = "openapi"
	KindMCP           ResourceKind = "mcp"
	KindA2A           ResourceKind = "a2a"
	KindAgentAuth     ResourceKind = "agent-auth"
	KindAgentic       ResourceKind = "agentic"
)

// Availability says how the publisher knows of a resource.
type Availability string

// Retrieved is a document that was read, Linked one that a retrieved document
// refers to.
const (
	Retrieved Availability = "retrieved"
	Linked    Availability = "linked"
)

// Methods are the methods of operations, in the order in which they are listed
// within a path.
var Methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"}

// Site is a Site Profile 1.1.0.
type Site struct {
	Origin      string
	Name        string
	Description string
	Resources   []Resource
	APIs        []API
	// HasSchema is set where the file names its schema.
	HasSchema bool

	root *jsontree.Node // where it was parsed
}

// Resource is one resource of a site.
type Resource struct {
	Kind         ResourceKind
	URL          string // as written
	Source       string // as written
	Availability Availability
	Title        string // "" where there is none

	// Link and SourceLink are URL and Source as parsed; both are set in a
	// valid profile.
	Link, SourceLink *weburl.URL
}

// API is the index of one OpenAPI document.
type API struct {
	Document   string // as written
	OpenAPI    string // version
	Operations []Operation

	// Link is Document as parsed; it is set in a valid profile.
	Link *weburl.URL
}

// Operation is one indexed operation.
type Operation struct {
	Method string
	Path   string
	// OperationID and Summary are "" where there is none.
	OperationID string
	Summary     string
}

// Type is [SiteType].
func (*Site) Type() Type { return SiteType }

// ServingOrigin is the origin.
func (s *Site) ServingOrigin() string { return s.Origin }

func (*Site) sealed() {}

// Draft reads a site profile that need not be valid: what is missing, or of
// another type, is empty, and unknown members are passed over. No link is
// parsed.
func (d *Document) Draft() *Site { return newSite(&d.Tree.Root) }

func newSite(root *jsontree.Node) *Site {
	s := &Site{
		Origin:      str(root, "origin"),
		Name:        str(root, "name"),
		Description: str(root, "description"),
		HasSchema:   root.Get("$schema") != nil,
		root:        root,
	}
	resources := items(root, "resources")
	s.Resources = make([]Resource, len(resources))
	for i := range resources {
		r := &resources[i]
		s.Resources[i] = Resource{
			Kind: ResourceKind(str(r, "kind")), URL: str(r, "url"), Source: str(r, "source"),
			Availability: Availability(str(r, "availability")), Title: str(r, "title"),
		}
	}
	apis := items(root, "apis")
	s.APIs = make([]API, len(apis))
	for i := range apis {
		operations := items(&apis[i], "operations")
		s.APIs[i] = API{Document: str(&apis[i], "document"), OpenAPI: str(&apis[i], "openapi"), Operations: make([]Operation, len(operations))}
		for j := range operations {
			o := &operations[j]
			s.APIs[i].Operations[j] = Operation{str(o, "method"), str(o, "path"), str(o, "operationId"), str(o, "summary")}
		}
	}
	return s
}

func items(n *jsontree.Node, name string) []jsontree.Node {
	if list := n.Get(name); list != nil {
		return list.Items
	}
	return nil
}

func str(n *jsontree.Node, name string) string {
	s, _ := n.Get(name).Text()
	return s
}

// Node is the profile as JSON, with the members in the order of the tables of
// the specification. Empty titles, operation ids and summaries are left out.
func (s *Site) Node() *jsontree.Node {
	member := func(members *[]jsontree.Member, name, value string) {
		*members = append(*members, jsontree.Member{Name: name, Value: jsontree.NewString(value)})
	}
	optional := func(members *[]jsontree.Member, name, value string) {
		if value != "" {
			member(members, name, value)
		}
	}
	var resources, apis []jsontree.Node
	for _, r := range s.Resources {
		var m []jsontree.Member
		member(&m, "kind", string(r.Kind))
		member(&m, "url", r.URL)
		member(&m, "source", r.Source)
		member(&m, "availability", string(r.Availability))
		optional(&m, "title", r.Title)
		resources = append(resources, jsontree.NewObject(m...))
	}
	for _, a := range s.APIs {
		var operations []jsontree.Node
		for _, o := range a.Operations {
			var m []jsontree.Member
			member(&m, "method", o.Method)
			member(&m, "path", o.Path)
			optional(&m, "operationId", o.OperationID)
			optional(&m, "summary", o.Summary)
			operations = append(operations, jsontree.NewObject(m...))
		}
		var m []jsontree.Member
		member(&m, "document", a.Document)
		member(&m, "openapi", a.OpenAPI)
		m = append(m, jsontree.Member{Name: "operations", Value: jsontree.NewArray(operations...)})
		apis = append(apis, jsontree.NewObject(m...))
	}
	var m []jsontree.Member
	if s.HasSchema {
		member(&m, "$schema", SiteSchemaID)
	}
	member(&m, "agentic", SiteVersion)
	member(&m, "type", string(SiteType))
	member(&m, "origin", s.Origin)
	member(&m, "name", s.Name)
	member(&m, "description", s.Description)
	m = append(m,
		jsontree.Member{Name: "resources", Value: jsontree.NewArray(resources...)},
		jsontree.Member{Name: "apis", Value: jsontree.NewArray(apis...)})
	root := jsontree.NewObject(m...)
	return &root
}
