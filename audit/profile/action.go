package profile

import (
	"strconv"
	"strings"
	"unicode"

	"agentaudit/audit/jsontree"
	"agentaudit/fetch/weburl"
)

// IdempotencyHeader is the header in which requests carry their id.
const IdempotencyHeader = "Idempotency-Key"

// Action is an Action Profile 1.0.0.
type Action struct {
	Origin  string
	Actions []ActionItem

	root *jsontree.Node // where it was parsed
}

// ActionItem is one action (seed SPEC, section 3).
type ActionItem struct {
	ID          string
	Description string
	OpenAPI     string // path from the root of the origin
	// Submit, Status and Verify are operation ids.
	Submit, Status, Verify string
	Request                Request
	Bindings               Bindings
	Evidence               Evidence
	Recovery               Recovery
}

// Request says how requests are told apart.
type Request struct {
	Header, Scope    string
	RetentionSeconds int
}

// Bindings name the path parameters of the two reads.
type Bindings struct {
	StatusRequestID, VerifyResourceID string
}

// Evidence says what proves an outcome; pointers are JSON Pointers.
type Evidence struct {
	ResourceIDPointer, RequestIDPointer, StatePointer string
	SuccessValues                                     []string
	InputBindings                                     []InputBinding
}

// InputBinding is a value of the input that must be found in the resource.
type InputBinding struct {
	InputPointer, ResourcePointer string
}

// Recovery bounds the checks after an unclear answer.
type Recovery struct {
	MaxChecks, CheckDelayMs, TimeoutMs int
	Retry                              string
}

// Type is [ActionType].
func (*Action) Type() Type { return ActionType }

// ServingOrigin is the origin.
func (a *Action) ServingOrigin() string { return a.Origin }

func (*Action) sealed() {}

// OpenAPIPaths are the different openapi paths of the actions, in the order of
// the actions.
func (a *Action) OpenAPIPaths() []string {
	var paths []string
	seen := map[string]bool{}
	for _, item := range a.Actions {
		if !seen[item.OpenAPI] {
			seen[item.OpenAPI] = true
			paths = append(paths, item.OpenAPI)
		}
	}
	return paths
}

// ActionsOf are the actions whose openapi path is path.
func (a *Action) ActionsOf(path string) []ActionItem {
	var items []ActionItem
	for _, item := range a.Actions {
		if item.OpenAPI == path {
			items = append(items, item)
		}
	}
	return items
}

// newAction reads a tree that the schema lets through.
func newAction(root *jsontree.Node) *Action {
	items := root.Get("actions").Items
	a := &Action{Origin: str(root, "origin"), Actions: make([]ActionItem, len(items)), root: root}
	for i := range items {
		n := &items[i]
		request, bindings, evidence, recovery := n.Get("request"), n.Get("bindings"), n.Get("evidence"), n.Get("recovery")
		item := ActionItem{
			ID: str(n, "id"), Description: str(n, "description"), OpenAPI: str(n, "openapi"),
			Submit: str(n, "submit"), Status: str(n, "status"), Verify: str(n, "verify"),
			Request:  Request{str(request, "header"), str(request, "scope"), whole(request, "retentionSeconds")},
			Bindings: Bindings{str(bindings, "statusRequestId"), str(bindings, "verifyResourceId")},
			Evidence: Evidence{
				ResourceIDPointer: str(evidence, "resourceIdPointer"), RequestIDPointer: str(evidence, "requestIdPointer"),
				StatePointer: str(evidence, "statePointer"),
			},
			Recovery: Recovery{
				whole(recovery, "maxChecks"), whole(recovery, "checkDelayMs"), whole(recovery, "timeoutMs"), str(recovery, "retry"),
			},
		}
		for _, v := range evidence.Get("successValues").Items {
			item.Evidence.SuccessValues = append(item.Evidence.SuccessValues, v.Str)
		}
		pairs := evidence.Get("inputBindings").Items
		for j := range pairs {
			item.Evidence.InputBindings = append(item.Evidence.InputBindings,
				InputBinding{str(&pairs[j], "inputPointer"), str(&pairs[j], "resourcePointer")})
		}
		a.Actions[i] = item
	}
	return a
}

func whole(n *jsontree.Node, name string) int {
	if v := n.Get(name); v != nil {
		return int(v.Num)
	}
	return 0
}

// action judges what the schema cannot say and reports all broken rules
// (specification section 4).
func (c *collector) action(a *Action, o Options) bool {
	c.actionOrigin(a, o)
	seen := map[string]int{}
	for i, item := range a.Actions {
		n := strconv.Itoa(i)
		if first, ok := seen[item.ID]; ok {
			c.at(a.root, CodeUniqueID, []string{"actions", n, "id"}, "action %d has the same id %s; ids must differ", first, Show(item.ID, 64))
		} else {
			seen[item.ID] = i
		}
		if fault := PathFault(item.OpenAPI); fault != "" {
			c.at(a.root, CodeOpenAPIPath, []string{"actions", n, "openapi"}, "%s: the path %s", item.ID, fault)
		}
		switch {
		case item.Submit == item.Status:
			c.distinct(a, item, n, "status", "submit")
		case item.Submit == item.Verify:
			c.distinct(a, item, n, "verify", "submit")
		case item.Status == item.Verify:
			c.distinct(a, item, n, "verify", "status")
		}
	}
	return c.none()
}

func (c *collector) distinct(a *Action, item ActionItem, index, name, other string) {
	c.at(a.root, CodeDistinct, []string{"actions", index, name}, "%s: %s and %s name the same operation; the three must differ", item.ID, other, name)
}

func (c *collector) actionOrigin(a *Action, o Options) {
	where := []string{"origin"}
	u, err := weburl.Parse(jsontree.WellFormed(a.Origin))
	switch {
	case err != nil:
		c.at(a.root, CodeOrigin, where, "must be the https origin of the service: %v", err)
	case u.Scheme() == "http" && !local(u):
		c.at(a.root, CodeOrigin, where, "must be an https origin, is %s", Show(a.Origin, 60))
	case u.Scheme() == "http" && !o.AllowLocal:
		c.at(a.root, CodeOrigin, where, "must be an https origin; http on the local machine is only for development, with --allow-local")
	case u.Origin() != a.Origin:
		c.at(a.root, CodeOrigin, where, "must be the bare origin as browsers write it, which is %s", Show(u.Origin(), 300))
	}
}

func local(u *weburl.URL) bool {
	switch u.Hostname() {
	case "localhost", "127.0.0.1", "[::1]":
		return true
	}
	return false
}

// PathFault says what makes a path unusable for a URL on an origin, as a
// clause such as "holds a %", or "" where it is usable: it must start with one
// slash and hold no . or .. segment, %, ?, #, backslash, control character or
// white space (specification sections 4 and 7, "Stricter": URL parsers drop or
// rewrite those, and what is left may lead to another host).
func PathFault(path string) string {
	switch {
	case !strings.HasPrefix(path, "/"):
		return "does not start with /"
	case strings.HasPrefix(path, "//"):
		return "starts with //, which names another host"
	}
	for _, r := range path {
		switch {
		case r == '%':
			return "holds a %, write characters as they are"
		case r == '?' || r == '#' || r == '\\':
			return "holds a " + string(r)
		case unicode.IsControl(r):
			return "holds a control character"
		case unicode.IsSpace(r) || r == '\uFEFF':
			return "holds white space"
		}
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return `has a segment "` + segment + `"`
		}
	}
	return ""
}
