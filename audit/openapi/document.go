// Package openapi reads the small part of OpenAPI 3 that profiles speak of:
// which operations there are, and whether those that an action names are bound
// as the convention asks (specification sections 3, 4 and 7; seed SPEC,
// section 4).
//
// Documents come from strangers. They are walked once, token by token, and
// only what is wanted is put into the types of kin-openapi; its own decoders
// take minutes for hostile texts and refuse whole documents for one wrong type
// anywhere, where the specification lets nothing fail but what it names.
// References are never followed: the convention wants inline definitions.
package openapi

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"agentaudit/audit/jsontree"
	"agentaudit/audit/profile"
)

// Document is an OpenAPI document, as far as it is of interest. Whatever has
// another type than OpenAPI gives it is as absent. It is safe for concurrent
// use and not to be changed.
type Document struct {
	// T has the members OpenAPI and Info; Info is never nil. Paths are kept
	// beside it, in their order.
	T *openapi3.T
	// HasPaths is set where paths is an object.
	HasPaths bool
	// Paths are the members of paths in the order of the document.
	Paths []Path

	servers list
	text    *jsontree.Document // for places alone
	offsets map[string]int     // of the members of the root that were read
	index   map[string]int     // Paths by their name

	once sync.Once
	byID map[string][]place // of get and post operations
}

// Path is one member of paths.
type Path struct {
	Name string
	// Item is nil where the member is no object. Of its operations, their id,
	// summary, inline parameters and body are set, nothing else.
	Item *openapi3.PathItem

	offset                    int
	hasParameters, hasServers bool
	operations                []operation // those that are objects
}

// operation is what [openapi3.Operation] cannot hold.
type operation struct {
	method  string // in capitals
	offset  int
	servers list
}

// list says what stands where a list belongs.
type list uint8

const (
	absent list = iota
	empty
	filled
	odd // no list
)

// place is one operation of a document.
type place struct {
	path      *Path
	operation *operation
}

func (p place) String() string {
	return p.operation.method + " " + profile.Show(p.path.Name, 120)
}

// KindError says that a document is JSON, but not an object.
type KindError struct{ Kind jsontree.Kind }

// Error is a clause without a final full stop.
func (e *KindError) Error() string {
	return fmt.Sprintf("an OpenAPI document is a JSON object, this is JSON of the type %s", e.Kind.Name())
}

// CheckSize refuses a local OpenAPI file that is over the limit for documents
// of action profiles.
func CheckSize(data []byte) error {
	if len(data) > profile.MaxOpenAPISize {
		return fmt.Errorf("the OpenAPI document has %d bytes, at most %d are allowed", len(data), profile.MaxOpenAPISize)
	}
	return nil
}

// Parse reads a document. The error is a [*jsontree.SyntaxError] or a
// [*KindError]. Where a name stands twice in an object the last one counts.
// Time and memory are linear in the size of data.
func Parse(data []byte) (*Document, error) {
	text := jsontree.DecodeText(data)
	d := &Document{T: &openapi3.T{Info: &openapi3.Info{}}, text: &jsontree.Document{Text: text}, offsets: map[string]int{}}
	w := walker{text: text, dec: jsontree.NewDecoder(text)}
	kind := w.kind()
	isObject, err := w.object(d.member(&w))
	if err == nil {
		err = jsontree.AtEnd(w.dec)
	}
	if err != nil {
		return nil, jsontree.NewSyntaxError(text, err)
	}
	if !isObject {
		return nil, &KindError{kind}
	}
	return d, nil
}

// member reads one member of the root object.
func (d *Document) member(w *walker) func(name string, offset int) error {
	return func(name string, offset int) (err error) {
		switch name {
		case "openapi", "servers", "paths":
			d.offsets[name] = offset
		}
		switch name {
		case "openapi":
			d.T.OpenAPI, err = w.string()
		case "info":
			d.T.Info = &openapi3.Info{}
			_, err = w.object(func(name string, _ int) (err error) {
				switch name {
				case "title":
					d.T.Info.Title, err = w.string()
				case "description":
					d.T.Info.Description, err = w.string()
				default:
					err = w.skip()
				}
				return err
			})
		case "servers":
			d.servers, err = w.list(nil)
		case "paths":
			d.Paths, d.index = nil, map[string]int{}
			d.HasPaths, err = w.object(func(name string, offset int) error {
				p, err := w.path(name, offset)
				if i, ok := d.index[name]; ok {
					d.Paths[i] = p
				} else {
					d.index[name] = len(d.Paths)
					d.Paths = append(d.Paths, p)
				}
				return err
			})
		default:
			err = w.skip()
		}
		return err
	}
}

// path reads a path item.
func (w *walker) path(name string, offset int) (Path, error) {
	p := Path{Name: name, offset: offset}
	item := &openapi3.PathItem{}
	isObject, err := w.object(func(name string, offset int) (err error) {
		switch name {
		case "parameters":
			p.hasParameters = true
			err = w.skip()
		case "servers":
			p.hasServers = true
			err = w.skip()
		default:
			slot := slot(item, name)
			if slot == nil {
				return w.skip()
			}
			p.operations = slices.DeleteFunc(p.operations, func(o operation) bool { return strings.EqualFold(o.method, name) })
			var o operation
			if *slot, o, err = w.operation(); *slot != nil {
				o.method, o.offset = strings.ToUpper(name), offset
				p.operations = append(p.operations, o)
			}
		}
		return err
	})
	if isObject {
		p.Item = item
	}
	return p, err
}

// slot is where a path item keeps the operation of a member, nil for members
// that are no operation.
func slot(item *openapi3.PathItem, name string) **openapi3.Operation {
	switch name {
	case "get":
		return &item.Get
	case "post":
		return &item.Post
	case "put":
		return &item.Put
	case "patch":
		return &item.Patch
	case "delete":
		return &item.Delete
	case "head":
		return &item.Head
	case "options":
		return &item.Options
	case "trace":
		return &item.Trace
	}
	return nil
}

// operation reads an operation; the first result is nil where it is no object.
func (w *walker) operation() (*openapi3.Operation, operation, error) {
	op, rest := &openapi3.Operation{}, operation{}
	isObject, err := w.object(func(name string, _ int) (err error) {
		switch name {
		case "operationId":
			op.OperationID, err = w.string()
		case "summary":
			op.Summary, err = w.string()
		case "servers":
			rest.servers, err = w.list(nil)
		case "parameters":
			op.Parameters = nil
			_, err = w.list(func() error {
				p, err := w.parameter()
				if p != nil {
					op.Parameters = append(op.Parameters, p)
				}
				return err
			})
		case "requestBody":
			op.RequestBody, err = w.requestBody()
		default:
			err = w.skip()
		}
		return err
	})
	if !isObject {
		op = nil
	}
	return op, rest, err
}

// parameter reads a parameter; the result is nil unless it is inline and has a
// name and a place, without which it can bind nothing.
func (w *walker) parameter() (*openapi3.ParameterRef, error) {
	var p struct {
		ref, name, in string
		required      bool
	}
	_, err := w.object(func(name string, _ int) (err error) {
		switch name {
		case "$ref":
			p.ref, err = w.string()
		case "name":
			p.name, err = w.string()
		case "in":
			p.in, err = w.string()
		case "required":
			p.required, err = w.isTrue()
		default:
			err = w.skip()
		}
		return err
	})
	if err != nil || p.ref != "" || p.name == "" || p.in == "" {
		return nil, err
	}
	return &openapi3.ParameterRef{Value: &openapi3.Parameter{Name: p.name, In: p.in, Required: p.required}}, nil
}

func (w *walker) requestBody() (*openapi3.RequestBodyRef, error) {
	b := &openapi3.RequestBodyRef{Value: &openapi3.RequestBody{}}
	isObject, err := w.object(func(name string, _ int) (err error) {
		switch name {
		case "$ref":
			b.Ref, err = w.string()
		case "content":
			b.Value.Content = nil
			_, err = w.object(func(name string, _ int) error {
				isObject, err := w.object(nil)
				if !isObject {
					delete(b.Value.Content, name)
				} else {
					if b.Value.Content == nil {
						b.Value.Content = openapi3.Content{}
					}
					b.Value.Content[name] = &openapi3.MediaType{}
				}
				return err
			})
		default:
			err = w.skip()
		}
		return err
	})
	if !isObject {
		return nil, err
	}
	return b, err
}
