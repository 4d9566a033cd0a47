package agentstxt

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ParseJSON reads the JSON form (section 3), strictly by type. It takes any
// bytes; where they are no JSON object, the declaration is empty.
func ParseJSON(body []byte) *Document {
	d := &Document{Form: JSONForm, src: newSource(body)}
	if d.src.bom {
		d.add("json", Fail, 0, "The file begins with a byte order mark, which JSON forbids (RFC 8259). Reference readers refuse the whole file.").
			fix("Save the file as UTF-8 without byte order mark.")
	}
	if d.src.invalid >= 0 {
		d.add("characters", Warn, d.src.invalid, "The file is not UTF-8: there are bytes that mean no character, read as U+FFFD.").
			fix("Save the file as UTF-8.")
	}
	root, bad := parseTree(d.src.text)
	if bad != nil {
		d.broken = true
		d.add("json", Fail, min(bad.offset, len(d.src.text)), "The file is not valid JSON: %s. Reference readers have no document at all then.", bad.reason).
			fix("Correct the JSON; a JSON checker shows the place.")
		return d
	}
	d.root = root
	if !root.is('{') {
		d.broken = true
		d.add("json", Fail, root.offset, "The JSON is %s, not an object.", kindName(root.kind)).
			fix(`Write an object: {"specVersion": "1.0", "site": {...}, "capabilities": [...], "access": {...}, "agents": {...}}`)
		return d
	}
	j := &jsonReader{Document: d}
	j.duplicates(root)
	j.declaration(root)
	return d
}

type jsonReader struct {
	*Document
	overflow bool
}

// duplicates notes repeated member names, everywhere (rule 67).
func (j *jsonReader) duplicates(n *node) {
	if n.is('[') {
		for _, x := range n.items {
			j.duplicates(x)
		}
		return
	}
	seen := make(map[string]bool, len(n.members))
	for _, m := range n.members {
		if seen[m.name] {
			j.add("json-duplicate", Warn, m.offset, "The member %s stands in this object more than once. The last one counts.", quoted(m.name)).
				fix("Leave only one.")
			j.lose(m.offset, "an earlier member of the same name")
		}
		seen[m.name] = true
		j.duplicates(m.value)
	}
}

// want returns the member if it is of that kind. Another kind breaks rule 65.
func (j *jsonReader) want(n *node, path string, kind jsontext.Kind) (v *node, wrong bool) {
	if n == nil {
		return nil, false
	}
	if n.is(kind) {
		return n, false
	}
	x := j.add("json-type", Fail, n.offset, "%s is %s, where the draft has %s. Reference readers refuse the whole file.",
		plain(path), kindName(n.kind), kindName(kind))
	j.lose(n.offset, "a member of a wrong type")
	switch {
	case n.kind == 'n':
		x.fix("Give it a value or leave the member out.")
	case strings.HasSuffix(path, ".auth") && n.is('"'):
		x.fix(`This is an old sample's shape. Write: "auth": {"type": %s}`, plain(quoteJSON(n.str)))
	case path == "agents" && n.is('['):
		x.fix(`This is an old sample's shape. Write an object by name: "agents": {"*": {...}}`)
	case kind == '"' && n.raw != "":
		x.fix("Write it in quotation marks: %s", plain(quoteJSON(n.raw)))
	case kind == '[' && n.is('"'):
		x.fix("Write a list: [%s]", plain(quoteJSON(n.str)))
	default:
		x.fix("Write %s.", kindName(kind))
	}
	return nil, true
}

// str reads a string member.
func (j *jsonReader) str(n *node, path string) Text {
	v, wrong := j.want(n, path, '"')
	if v == nil {
		return Text{wrong: wrong, offset: offsetOf(n)}
	}
	t := trim(v.str)
	for _, r := range t {
		if r < 0x20 && r != '\n' && r != '\r' && r != '\t' || r >= 0x7f && r < 0xa0 {
			j.add("characters", Warn, v.offset, "%s holds a control character.", plain(path)).fix("Remove it.")
			break
		}
	}
	return Text{Value: t, offset: v.offset, empty: t == ""}
}

// optional reads a string that may be absent; an empty one counts as absent.
func (j *jsonReader) optional(n *node, path string) Text {
	t := j.str(n, path)
	if t.empty {
		j.add("empty-value", Info, t.offset, "%s is empty. It counts as absent.", plain(path)).fix("Give it a value or leave the member out.")
	}
	return t
}

// list reads a list of strings. given is false where there is none.
func (j *jsonReader) list(n *node, path string) (out []Text, given bool) {
	v, _ := j.want(n, path, '[')
	if v == nil {
		return nil, false
	}
	for i, x := range v.items {
		t := j.str(x, path+"["+itoa(i)+"]")
		if !t.wrong {
			out = append(out, t)
		}
	}
	return out, true
}

func offsetOf(n *node) int {
	if n == nil {
		return 0
	}
	return n.offset
}

// unknown keeps the members that are not in names (rule 58).
func (j *jsonReader) unknown(n *node, path string, names ...string) []extra {
	var out []extra
	last := n.last()
	for i, m := range n.members {
		if contains(names, m.name) || last[m.name] != i {
			continue // of several of one name the last one counts
		}
		out = append(out, extra{Name: Text{Value: m.name, offset: m.offset}, JSON: m.value.source(j.src.text)})
		full := j.findings.full("unknown", Info)
		x := j.add("unknown", Info, m.offset, "%s is not a member of the draft. Readers ignore it.", quoted(path+m.name))
		if full {
			continue
		}
		switch {
		case m.name == "params" && contains(names, "parameters"):
			x.fix(`This is an old sample's shape. Write: "parameters": [{"name": "q", "in": "query", "type": "string"}]`)
		case (m.name == "allow" || m.name == "disallow") && path == "":
			x.fix(`It belongs into access: "access": {"allow": [], "disallow": []}`)
		case m.name == "location" && contains(names, "in"):
			x.fix(`This is an old sample's shape. Write: "in": %s`, plain(quoteJSON(m.value.text())))
		default:
			x.fix("Remove it, or leave it for readers of your own.")
			if name := didYouMean(m.name, names); name != "" {
				x.fix("Did you mean %s? Names are case-sensitive in JSON.", name)
			}
		}
	}
	return out
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
