package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport says which folders a top-level folder may import from, its own
// aside: arrows go down only.
var mayImport = map[string][]string{
	"cmd":       {"worker", "dashboard", "audit", "store", "queue", "fetch"},
	"dashboard": {"worker", "audit", "store", "queue", "fetch"},
	"worker":    {"audit", "store", "queue", "fetch"},
	"store":     {"audit"},
	"audit":     {"fetch"},
	"queue":     {},
	"fetch":     {},
	"deploy":    {"cmd"},
}

// onlyIn says where alone a library may be imported, so that it can be
// replaced, or understood, in one place.
var onlyIn = map[string]string{
	"database/sql":             "store",
	"modernc.org/sqlite":       "store",
	"github.com/jackc/pgx":     "store",
	"github.com/hibiken/asynq": "queue",
	"github.com/redis":         "queue",
	"github.com/alicebob":      "queue",
	"github.com/urfave/cli":    "cmd",
}

// dials are the ways to reach the network that skip the address checks of
// package fetch.
var dials = map[string][]string{
	"net":        {"Dial", "DialTimeout", "DialTCP", "DialUDP", "Dialer", "DefaultResolver", "LookupHost", "LookupIP", "LookupAddr"},
	"crypto/tls": {"Dial", "DialWithDialer", "Dialer", "Client"},
	"net/http":   {"Get", "Head", "Post", "PostForm", "Client", "DefaultClient", "Transport", "DefaultTransport"},
}

// mayDial lists the files outside package fetch that reach the network
// themselves, each with what it reaches: never a site.
var mayDial = map[string]string{
	"worker/writeback/writeback.go": "the operator's own receiver of messages",
}

// A house stands on its layers: nobody need remember them, this test does.
func TestLayers(t *testing.T) {
	root := filepath.Join("..", "..")
	files := 0
	dialled := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && rel != "." || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		top, _, _ := strings.Cut(rel, "/")
		allowed, known := mayImport[top]
		if !known {
			t.Errorf("%s: the top-level folder %s has no place among the layers", rel, top)
		}
		// Servers that tests start are no part of the program.
		forTests := strings.HasSuffix(path.Dir(rel), "test")
		names := map[string]string{} // of imports of packages that can dial
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if ours, ok := strings.CutPrefix(imported, "agentaudit/"); ok {
				below, _, _ := strings.Cut(ours, "/")
				if below != top && !forTests && !slices.Contains(allowed, below) {
					t.Errorf("%s imports %s: %s must not know %s", rel, imported, top, below)
				}
			}
			for library, place := range onlyIn {
				if (imported == library || strings.HasPrefix(imported, library+"/")) && top != place && !forTests {
					t.Errorf("%s imports %s, which belongs in %s alone", rel, imported, place)
				}
			}
			if _, ok := dials[imported]; ok {
				names[path.Base(imported)] = imported
				if spec.Name != nil {
					names[spec.Name.Name] = imported
				}
			}
		}
		if top == "fetch" || forTests {
			return nil
		}
		ast.Inspect(file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if ok && slices.Contains(dials[names[x.Name]], sel.Sel.Name) {
				dialled[rel] = true
				if mayDial[rel] == "" {
					t.Errorf("%s uses %s.%s: sites are reached through package fetch alone", rel, x.Name, sel.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files were read, %v", files, err)
	}
	for name := range mayDial {
		if !dialled[name] {
			t.Errorf("%s may dial and does not: take it off the list", name)
		}
	}
}
