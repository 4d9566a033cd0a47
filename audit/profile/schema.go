package profile

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"agentaudit/audit/jsontree"
)

// The identifiers of the schemas (specification sections 3 and 4). Both are
// built in; nothing is ever fetched, whatever a file names in $schema.
const (
	SiteSchemaID   = "https://ruagentic.org/schemas/site-1.1.schema.json"
	ActionSchemaID = "https://ruagentic.org/schemas/agentic-1.0.schema.json"
)

// The schemas as files, for those who want to read or publish them.
var (
	//go:embed schemas/site-1.1.schema.json
	SiteSchema string
	//go:embed schemas/agentic-1.0.schema.json
	ActionSchema string
)

var (
	siteSchema   = sync.OnceValue(func() *jsonschema.Schema { return compile(SiteSchemaID, SiteSchema) })
	actionSchema = sync.OnceValue(func() *jsonschema.Schema { return compile(ActionSchemaID, ActionSchema) })
)

// compile panics: a schema that does not compile is a fault of this package,
// which its tests find.
func compile(id, text string) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(text)))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(offline{})
	if err := c.AddResource(id, doc); err != nil {
		panic(err)
	}
	return c.MustCompile(id)
}

// offline is a loader that loads nothing.
type offline struct{}

func (offline) Load(url string) (any, error) {
	return nil, errors.New("schemas are built in, none is fetched")
}

const (
	// The schemas reach six levels down and allow no list of more than 160;
	// what lies beyond cannot change the verdict and is not handed over.
	maxInstanceDepth = 8
	maxInstanceItems = 200
	// Numbers are handed over clamped: the validator computes with exact
	// fractions, for which 1e308 is costly and infinity fatal, and no limit of
	// the schemas lies beyond these.
	largest  = 1e15
	smallest = 1e-3
)

// instance makes of a node what the validator reads. Lone surrogates become
// U+FFFD, which counts as one code point like them and fits the same patterns.
func instance(n *jsontree.Node, depth int) any {
	switch n.Kind {
	case jsontree.Bool:
		return n.Bool
	case jsontree.Number:
		switch abs := math.Abs(n.Num); {
		case abs > largest:
			return math.Copysign(largest, n.Num)
		case abs < smallest && abs > 0:
			return math.Copysign(smallest, n.Num)
		}
		return n.Num
	case jsontree.String:
		return jsontree.WellFormed(n.Str)
	case jsontree.Array:
		items := n.Items[:min(len(n.Items), maxInstanceItems)]
		if depth == maxInstanceDepth {
			items = nil
		}
		out := make([]any, len(items))
		for i := range items {
			out[i] = instance(&items[i], depth+1)
		}
		return out
	case jsontree.Object:
		if depth == maxInstanceDepth {
			return map[string]any{}
		}
		out := make(map[string]any, len(n.Members))
		for i := range n.Members {
			out[jsontree.WellFormed(n.Members[i].Name)] = instance(&n.Members[i].Value, depth+1)
		}
		return out
	}
	return nil
}

// schema collects what breaks the schema.
func (c *collector) schema(s *jsonschema.Schema, root *jsontree.Node) {
	if failed, ok := errors.AsType[*jsonschema.ValidationError](s.Validate(instance(root, 0))); ok {
		c.leaves(root, failed)
	}
}

func (c *collector) leaves(root *jsontree.Node, e *jsonschema.ValidationError) {
	for _, cause := range e.Causes {
		c.leaves(root, cause)
	}
	if len(e.Causes) > 0 {
		return
	}
	n := root
	for _, token := range e.InstanceLocation {
		if n.Kind == jsontree.Array {
			i, _ := strconv.Atoi(token)
			n = &n.Items[i]
		} else {
			n = n.Get(token)
		}
	}
	c.leaf(n, jsontree.Pointer(e.InstanceLocation...), e)
}

// leaf words one broken keyword. The validator's own messages will not do:
// they repeat values of any length, in random order.
func (c *collector) leaf(n *jsontree.Node, pointer string, e *jsonschema.ValidationError) {
	say := func(code Code, format string, args ...any) { c.add(code, n.Offset(), pointer, format, args...) }
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		say(CodeType, "must be %s, is %s", list(k.Want), found(n))
	case *kind.Const:
		say(CodeConst, "must be %s, is %s", value(k.Want), found(n))
	case *kind.Enum:
		var want []string
		for _, w := range k.Want {
			want = append(want, value(w))
		}
		say(CodeEnum, "must be one of %s, is %s", strings.Join(want, ", "), found(n))
	case *kind.Required:
		for _, name := range k.Missing {
			say(CodeRequired, "the member %s is missing", Show(name, 60))
		}
	case *kind.AdditionalProperties:
		unknown := make(map[string]bool, len(k.Properties))
		for _, name := range k.Properties {
			unknown[name] = true
		}
		for i := range n.Members {
			m := &n.Members[i]
			if unknown[jsontree.WellFormed(m.Name)] {
				c.add(CodeUnknown, m.Offset(), string(jsontree.AppendToken([]byte(pointer), m.Name)),
					"this version has no member %s here; remove it or correct its name", Show(m.Name, 60))
			}
		}
	case *kind.MinLength:
		say(CodeLength, "must not be empty")
	case *kind.MaxLength:
		say(CodeLength, "has %d characters, at most %d are allowed", k.Got, k.Want)
	case *kind.MinItems:
		say(CodeCount, "has %d entries, at least %d are needed", len(n.Items), k.Want)
	case *kind.MaxItems:
		say(CodeCount, "has %d entries, at most %d are allowed", len(n.Items), k.Want)
	case *kind.UniqueItems:
		if i, j, ok := twins(n.Items); ok {
			say(CodeUnique, "the entries %d and %d are equal; remove one", i, j)
		}
	case *kind.Pattern:
		if n.Str != "" { // of an empty text its length says enough
			say(CodePattern, "%s, is %s", pattern(k.Want), found(n))
		}
	case *kind.Minimum:
		say(CodeRange, "must be at least %s, is %s", number(k.Want), found(n))
	case *kind.Maximum:
		say(CodeRange, "must be at most %s, is %s", number(k.Want), found(n))
	default:
		say(CodeSchema, "breaks the rule %s", strings.Join(k.KeywordPath(), "/"))
	}
}

// twins finds the first two equal values. The validator's own finding is not
// enough: it cannot tell lone surrogates from each other.
func twins(items []jsontree.Node) (i, j int, ok bool) {
	seen := make(map[string]int, len(items))
	for j := range items {
		key := jsontree.Stringify(&items[j], "")
		if i, ok := seen[key]; ok && jsontree.Equal(&items[i], &items[j]) {
			return i, j, true
		}
		seen[key] = j
	}
	return 0, 0, false
}

func pattern(want string) string {
	switch {
	case strings.HasPrefix(want, "^[a-zA-Z]"):
		return "must be a letter followed by letters, digits, _ and - alone"
	case strings.HasPrefix(want, "^(?:/(?:"):
		return "must be a JSON Pointer such as /id, with ~ written as ~0 and / inside a name as ~1"
	case strings.HasPrefix(want, "^(?:/["):
		return "must be a path from the root of the origin such as /openapi.json, without empty parts, backslash, ? and #"
	case strings.HasPrefix(want, "^https?"):
		return "must be an origin such as https://site.example, without a slash at the end"
	}
	return "must fit the pattern " + want
}

func list(types []string) string {
	words := slices.Clone(types)
	for i, w := range words {
		switch w {
		case "integer":
			words[i] = "a whole number"
		case "array":
			words[i] = "a list"
		case "object":
			words[i] = "an object"
		default:
			words[i] = "a " + w
		}
	}
	return strings.Join(words, " or ")
}

// found says in a few characters what stands in the file.
func found(n *jsontree.Node) string {
	switch n.Kind {
	case jsontree.Array:
		return "a list"
	case jsontree.Object:
		return "an object"
	case jsontree.String:
		return Show(n.Str, 60)
	case jsontree.Number:
		if math.IsInf(n.Num, 0) {
			return "a number too large"
		}
	}
	return jsontree.Stringify(n, "")
}

func value(v any) string {
	if s, ok := v.(string); ok {
		return Show(s, 100)
	}
	return fmt.Sprint(v)
}

func number(r *big.Rat) string { return r.RatString() }
