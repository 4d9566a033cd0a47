package agentstxt

import (
	"bytes"
	"encoding/json"
)

// Text is one string of a declaration. The zero Text is a value that the file
// does not hold. Value is trimmed; it is never changed otherwise, except that
// agent names are in lower case and methods in upper case.
type Text struct {
	Value string
	// offset is where the value stands in the decoded source.
	offset int
	// empty: the field is there without a value; wrong: its JSON type is wrong.
	empty, wrong bool
}

// IsZero reports whether there is no value.
func (t Text) IsZero() bool { return t.Value == "" }

// MarshalJSON writes the value as a JSON string.
func (t Text) MarshalJSON() ([]byte, error) { return json.Marshal(t.Value) }

// given reports whether the file has the field at all, with whatever value.
func (t Text) given() bool { return t.Value != "" || t.empty || t.wrong }

// missing reports whether the field is absent or empty; a value of a wrong
// type is neither (README of the cases, reading 4).
func (t Text) missing() bool { return t.Value == "" && !t.wrong }

// Declaration is the model of both forms (section 3). Its JSON is the shape of
// agents.json with absent members left out; defaults are not filled in.
type Declaration struct {
	SpecVersion Text `json:"specVersion,omitzero"`
	GeneratedAt Text `json:"generatedAt,omitzero"`
	// DeclarationType is "platform" (also when absent) or "agent".
	DeclarationType Text         `json:"declarationType,omitzero"`
	OperatesOn      []Text       `json:"operatesOn,omitempty"`
	Site            Site         `json:"site"`
	Capabilities    []Capability `json:"capabilities,omitempty"`
	Access          Access       `json:"access,omitzero"`
	Agents          Agents       `json:"agents,omitempty"`
	// Metadata holds unknown top-level fields of the text form and Agents-JSON.
	Metadata Fields `json:"metadata,omitempty"`

	// extra holds unknown top-level members of the JSON form.
	extra []extra
}

// Site says whose declaration it is.
type Site struct {
	Name          Text `json:"name,omitzero"`
	URL           Text `json:"url,omitzero"`
	Description   Text `json:"description,omitzero"`
	Contact       Text `json:"contact,omitzero"`
	PrivacyPolicy Text `json:"privacyPolicy,omitzero"`

	wrong bool // site is there, but is no object
	extra []extra
}

// Capability is one action that agents may take.
type Capability struct {
	ID          Text      `json:"id,omitzero"`
	Description Text      `json:"description,omitzero"`
	Endpoint    Text      `json:"endpoint,omitzero"`
	Protocol    Text      `json:"protocol,omitzero"`
	Method      Text      `json:"method,omitzero"`
	Auth        Auth      `json:"auth,omitzero"`
	Scopes      []Text    `json:"scopes,omitempty"` // the second home of scopes in JSON
	RateLimit   RateLimit `json:"rateLimit,omitzero"`
	OpenAPI     Text      `json:"openapi,omitzero"`
	// Parameters are those that could be read.
	Parameters []Parameter `json:"parameters,omitempty"`

	offset int
	extra  []extra
}

// Auth says how a capability authenticates its callers.
type Auth struct {
	Type          Text   `json:"type,omitzero"`
	TokenEndpoint Text   `json:"tokenEndpoint,omitzero"`
	DocsURL       Text   `json:"docsUrl,omitzero"`
	Scopes        []Text `json:"scopes,omitempty"`

	given, wrong bool
	extra        []extra
}

// IsZero reports whether nothing is said.
func (a Auth) IsZero() bool {
	return a.Type.IsZero() && a.TokenEndpoint.IsZero() && a.DocsURL.IsZero() && len(a.Scopes) == 0
}

// allScopes is the union of both homes of scopes, each once, in order.
func (c *Capability) allScopes() []Text {
	if len(c.Scopes) == 0 {
		return c.Auth.Scopes
	}
	var out []Text
	seen := map[string]bool{}
	for _, list := range [][]Text{c.Auth.Scopes, c.Scopes} {
		for _, s := range list {
			if !seen[s.Value] {
				seen[s.Value] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// RateLimit is "N/window". Requests is a positive integer in decimal digits
// without leading zeros: files may hold numbers beyond 64 bits.
type RateLimit struct {
	Requests Text
	Window   Text // second, minute, hour or day

	offset int
	extra  []extra
}

// IsZero reports whether there is no (readable) limit.
func (r RateLimit) IsZero() bool { return r.Requests.Value == "" || r.Window.Value == "" }

// String is the text form.
func (r RateLimit) String() string { return r.Requests.Value + "/" + r.Window.Value }

// MarshalJSON writes {"requests": N, "window": "..."}.
func (r RateLimit) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Requests json.Number `json:"requests"`
		Window   Text        `json:"window"`
	}{json.Number(r.Requests.Value), r.Window})
}

// Parameter is one parameter of a REST endpoint.
type Parameter struct {
	Name Text `json:"name,omitzero"`
	// In is query, path, header or body.
	In          Text `json:"in,omitzero"`
	Type        Text `json:"type,omitzero"`
	Required    bool `json:"required,omitempty"`
	Description Text `json:"description,omitzero"`
	// Min, Max and Default exist in JSON only.
	Min     json.RawMessage `json:"min,omitempty"`
	Max     json.RawMessage `json:"max,omitempty"`
	Default json.RawMessage `json:"default,omitempty"`

	offset int
	extra  []extra
}

// Access holds the path rules, each in the order of the file.
type Access struct {
	Allow    []Text `json:"allow,omitempty"`
	Disallow []Text `json:"disallow,omitempty"`

	extra []extra
}

// IsZero reports whether there is no rule.
func (a Access) IsZero() bool { return len(a.Allow) == 0 && len(a.Disallow) == 0 }

// Agent is the policy for one agent.
type Agent struct {
	// Name is in lower case; "*" is every agent without a block of its own.
	Name      Text      `json:"-"`
	RateLimit RateLimit `json:"rateLimit,omitzero"`
	// Capabilities is nil when all are granted and empty when none is.
	Capabilities     []Text `json:"capabilities,omitzero"`
	AgentDeclaration Text   `json:"agentDeclaration,omitzero"`

	offset int
	extra  []extra
}

// Agents are the policies by name; in JSON an object.
type Agents []Agent

// MarshalJSON writes the object in the order of the list.
func (a Agents) MarshalJSON() ([]byte, error) {
	return marshalObject(len(a), func(i int) (string, any) { return a[i].Name.Value, a[i] })
}

// Find returns the agent of that name (in lower case), nil if there is none.
func (a Agents) Find(name string) *Agent {
	for i := range a {
		if a[i].Name.Value == name {
			return &a[i]
		}
	}
	return nil
}

// Field is one field that the draft does not define, as it is spelled.
type Field struct{ Name, Value Text }

// Fields are unknown fields in the order of the file; in JSON an object. A
// text file may repeat a name; as JSON the last value counts.
type Fields []Field

// MarshalJSON writes the object.
func (f Fields) MarshalJSON() ([]byte, error) {
	last := map[string]int{}
	for i := range f {
		last[f[i].Name.Value] = i
	}
	once := make(Fields, 0, len(last))
	for i := range f {
		if last[f[i].Name.Value] == i {
			once = append(once, f[i])
		}
	}
	return marshalObject(len(once), func(i int) (string, any) { return once[i].Name.Value, once[i].Value })
}

// Get returns the last value of a name, compared without regard to case.
func (f Fields) Get(name string) Text {
	for i := len(f) - 1; i >= 0; i-- {
		if equalFold(f[i].Name.Value, name) {
			return f[i].Value
		}
	}
	return Text{}
}

// extra is a field or member that the draft does not define, kept so that
// printing loses nothing. JSON is nil where it comes from the text form.
type extra struct {
	Name, Value Text
	JSON        json.RawMessage
}

func marshalObject(n int, member func(int) (string, any)) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		name, value := member(i)
		k, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		v, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		b.Write(k)
		b.WriteByte(':')
		b.Write(v)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
