package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"agentaudit/audit/sitelist"
	"agentaudit/worker/producer"
)

func listFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "list-format", Usage: "read the lists as `FORMAT`: text, csv, ndjson, json or sitemap (default: found out)"},
		&cli.StringFlag{Name: "column", Usage: "take the site from column or member `NAME` (default: url, website, site, homepage, domain, origin or link)"},
		&cli.StringFlag{Name: "pointer", Usage: "find the list in a JSON document at `POINTER`, as in /data/items"},
		&cli.StringFlag{Name: "id-column", Usage: "take the listing's own id from column or member `NAME` (default: id or slug)"},
		&cli.StringFlag{Name: "label-column", Usage: "take the label from column or member `NAME` (default: label, name or title)"},
		&cli.StringFlag{Name: "tag-column", Usage: "take tags from column or member `NAME` (default: tags or tag)"},
		&cli.StringFlag{Name: "readme-column", Usage: "take the README URL from column or member `NAME` (default: readmeUrl or readme)"},
	}
}

// readOptions are what the flags say of how to read a list.
func readOptions(c *cli.Context) sitelist.Options {
	return sitelist.Options{
		Format: sitelist.Format(c.String("list-format")), Column: c.String("column"), Pointer: c.String("pointer"),
		IDColumn: c.String("id-column"), LabelColumn: c.String("label-column"), TagColumn: c.String("tag-column"), ReadmeColumn: c.String("readme-column"),
	}
}

// newList sorts words into files and sites. What names neither is an error: a
// mistyped file name must not become a site that does not exist.
func newList(c *cli.Context, words []string) (producer.List, error) {
	o := producer.List{Read: readOptions(c)}
	for _, arg := range words {
		if arg == producer.StandardInput {
			o.Files = append(o.Files, arg)
			continue
		}
		info, err := os.Stat(arg)
		switch {
		case err == nil && info.IsDir():
			return o, usagef("%s is a directory; name the list in it", clean(arg))
		case err == nil:
			abs, err := filepath.Abs(arg)
			if err != nil {
				return o, usagef("%s: %v", clean(arg), err)
			}
			o.Files = append(o.Files, abs)
		case !errors.Is(err, fs.ErrNotExist) && !looksLikeSite(arg):
			return o, usagef("cannot read %s: %v", clean(arg), err)
		case looksLikeSite(arg):
			o.Sites = append(o.Sites, arg)
		default:
			return o, usagef("there is no file %s, and it does not look like a site (as in shop.example or https://shop.example/agentic.json)", clean(arg))
		}
	}
	if len(o.Files)+len(o.Sites) == 0 {
		return o, usagef("name at least one list: a file, a site, or - for standard input")
	}
	return o, nil
}

// looksLikeSite tells sites from names of files that are not there.
func looksLikeSite(arg string) bool {
	if strings.Contains(arg, "://") {
		return true
	}
	host, _, _ := strings.Cut(arg, "/")
	if !strings.Contains(host, ".") || strings.HasPrefix(host, ".") || strings.ContainsAny(host, " \\") {
		return false
	}
	switch strings.ToLower(filepath.Ext(arg)) {
	case ".txt", ".csv", ".tsv", ".json", ".ndjson", ".jsonl", ".xml", ".gz", ".list", ".lst":
		// shop.example/agentic.json is a site, sites.json is a file.
		return strings.Contains(arg, "/") && !strings.HasPrefix(arg, "/")
	}
	return true
}
