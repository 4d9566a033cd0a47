package openapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agentaudit/audit/jsontree"
	"agentaudit/audit/profile"
)

// The walk over tokens must see what a plain look at the whole tree sees.
func FuzzOpenAPI(f *testing.F) {
	for _, s := range []string{
		seats, `{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"reserve"},"get":1},"/a":{}},"paths":{}}`, "[]", "null", "{", `{"servers":[],"servers":{}}`,
		`{"openapi":3,"paths":{"\u002fa":{"post":{"operationId":"\ud800","parameters":[{"$ref":"a"}],"requestBody":{"content":{"a":{}}}}}}}`, "\ufeff{}", "{\"a\":\"\xff\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(data)
		tree, treeErr := jsontree.Parse(data)
		if treeErr != nil {
			if err == nil || err.Error() != treeErr.Error() {
				t.Fatalf("%v, the tree says %v", err, treeErr)
			}
			return
		}
		root := &tree.Root
		if (err == nil) != (root.Kind == jsontree.Object) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		str := func(n *jsontree.Node) string {
			s, _ := n.Text()
			return s
		}
		if d.T.OpenAPI != str(root.Get("openapi")) || d.T.Info.Title != str(root.Get("info").Get("title")) {
			t.Fatalf("%+v", d.T)
		}
		paths := root.Get("paths")
		if d.HasPaths != (paths != nil && paths.Kind == jsontree.Object) {
			t.Fatal("paths")
		}
		var want, got []string
		if d.HasPaths {
			for i := range paths.Members {
				m := &paths.Members[i]
				for _, method := range profile.Methods {
					op := m.Value.Get(strings.ToLower(method))
					if op == nil || op.Kind != jsontree.Object {
						continue
					}
					var parameters, bodies int
					if list := op.Get("parameters"); list != nil {
						for j := range list.Items {
							item := &list.Items[j]
							if str(item.Get("name")) != "" && str(item.Get("in")) != "" && str(item.Get("$ref")) == "" {
								parameters++
							}
						}
					}
					if content := op.Get("requestBody").Get("content"); content != nil {
						for j := range content.Members {
							if content.Members[j].Value.Kind == jsontree.Object {
								bodies++
							}
						}
					}
					want = append(want, fmt.Sprintf("%q %s %q %q %d %d", m.Name, method, str(op.Get("operationId")), str(op.Get("summary")), parameters, bodies))
				}
			}
		}
		for i := range d.Paths {
			p := &d.Paths[i]
			for _, method := range profile.Methods {
				o := p.find(method)
				if o == nil {
					continue
				}
				op := d.operation(place{p, o})
				bodies := 0
				if op.RequestBody != nil {
					bodies = len(op.RequestBody.Value.Content)
				}
				got = append(got, fmt.Sprintf("%q %s %q %q %d %d", p.Name, method, op.OperationID, op.Summary, len(op.Parameters), bodies))
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		d.Operations()
		index := profile.API{Operations: []profile.Operation{{Method: "GET", Path: "/a", OperationID: "x"}, {Method: "POST", Path: "/seats"}}}
		for _, p := range append(CheckBindings(d, []profile.ActionItem{reserve}), CheckIndex(d, index)...) {
			if p.Message == "" || p.Remedy == "" || p.Line < 1 || strings.ContainsAny(p.String(), "\n\u202e") {
				t.Fatalf("%+v", p)
			}
		}
	})
}
