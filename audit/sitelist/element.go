package sitelist

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// lenient reads JSON as JSON.parse does where members stand twice; what is
// not UTF-8 becomes U+FFFD.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// elements reads the elements of a JSON list.
type elements struct {
	columns
	dec *jsontext.Decoder
	src bytes.Reader
}

func newElements(opt Options) *elements {
	return &elements{columns: newColumns(opt), dec: jsontext.NewDecoder(strings.NewReader(""), lenient...)}
}

// line makes a line of an element: a string, or an object with the site in
// one of its members.
func (e *elements) line(number int64, raw jsontext.Value) Line {
	switch raw.Kind() {
	case '"':
		return makeLine(number, entry{site: scalar(raw)})
	case '{':
	default:
		return rejectLine(number, string(raw), "this is %s, neither a text nor an object with the site in it", kindName(raw.Kind()))
	}
	members, err := e.members(raw)
	if err != nil {
		return rejectLine(number, string(raw), "this is not JSON: %v", err)
	}
	var out entry
	for _, name := range e.site {
		if v := members[name]; v.Kind() == '"' && strings.TrimSpace(scalar(v)) != "" {
			out.site = scalar(v)
			break
		}
	}
	if out.site == "" {
		return rejectLine(number, string(raw), "the object has no text named %s", strings.Join(e.site, ", "))
	}
	out.id = first(members, e.id)
	out.label = first(members, e.label)
	for _, name := range e.tags {
		if out.tags = tagsOf(members[name]); out.tags != nil {
			break
		}
	}
	for _, name := range e.readme {
		v := strings.TrimSpace(scalar(members[name]))
		if v == "" {
			continue
		}
		if e.readmeText(name, v) {
			out.notes = append(out.notes, noteReadmeText)
			continue
		}
		out.readme = v
		break
	}
	return makeLine(number, out)
}

// hasSite reports whether an element looks as if it named a site.
func (e *elements) hasSite(raw jsontext.Value) bool {
	switch raw.Kind() {
	case '"':
		l := makeLine(1, entry{site: scalar(raw)})
		return l.Reject == "" && strings.Contains(l.Target.Hostname(), ".")
	case '{':
		members, err := e.members(raw)
		return err == nil && slices.ContainsFunc(e.site, func(name string) bool { return members[name].Kind() == '"' })
	}
	return false
}

// members gives the members of an object that are wanted, by their names in
// lower case. Of two with one name the last counts.
func (e *elements) members(raw jsontext.Value) (map[string]jsontext.Value, error) {
	e.src.Reset(raw)
	e.dec.Reset(&e.src, lenient...)
	if _, err := e.dec.ReadToken(); err != nil {
		return nil, err
	}
	out := map[string]jsontext.Value{}
	for e.dec.PeekKind() == '"' {
		t, err := e.dec.ReadToken()
		if err != nil {
			return nil, err
		}
		name := columnName(t.String())
		if !e.wanted(name) {
			if err := e.dec.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		v, err := e.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		out[name] = v.Clone()
	}
	_, err := e.dec.ReadToken()
	return out, err
}

func (c columns) wanted(name string) bool {
	return slices.Contains(c.site, name) || slices.Contains(c.id, name) || slices.Contains(c.label, name) ||
		slices.Contains(c.tags, name) || slices.Contains(c.readme, name)
}

// first is the first member that says something.
func first(members map[string]jsontext.Value, names []string) string {
	for _, name := range names {
		if s := strings.TrimSpace(scalar(members[name])); s != "" {
			return s
		}
	}
	return ""
}

// scalar is a text, number or boolean as text; "" for all else.
func scalar(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		// The value was read by the same decoder, so this cannot fail; bytes
		// that are not UTF-8 are replaced by it.
		b, _ := jsontext.AppendUnquote(nil, v)
		return string(b)
	case '0', 't', 'f':
		return string(v)
	}
	return ""
}

// tagsOf reads tags: a list of texts, of objects with a name, or one text.
func tagsOf(v jsontext.Value) []string {
	if v.Kind() != '[' {
		return splitTags(scalar(v))
	}
	var tags []string
	dec := jsontext.NewDecoder(bytes.NewReader(v), lenient...)
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	names := elements{dec: jsontext.NewDecoder(strings.NewReader(""), lenient...)}
	names.label = append(slices.Clone(labelColumns), idColumns...)
	for dec.PeekKind() != ']' {
		item, err := dec.ReadValue()
		if err != nil {
			return tags
		}
		tag := scalar(item)
		if item.Kind() == '{' {
			if members, err := names.members(item); err == nil {
				tag = first(members, names.label)
			}
		}
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a truth value"
	case '0':
		return "a number"
	case '[':
		return "a list"
	case '{':
		return "an object"
	case '"':
		return "a text"
	}
	return fmt.Sprintf("%q", k.String())
}
