package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"agentaudit/audit/publication"
	"agentaudit/audit/report"
	"agentaudit/store"
)

const fixKitName = "fix-kit"

func fixKitFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: fixKitName, Usage: usage}
}

// kitFiles are the files of a kit for a directory.
func kitFiles(k *publication.Kit) []namedFile {
	var files []namedFile
	for _, f := range k.Folder() {
		files = append(files, namedFile{f.Name, f.Content})
	}
	return files
}

// giveKit writes the kit of one audit into the directory, or says why there is
// none.
func giveKit(d *newDir, res *report.Result, note func(string, ...any)) error {
	k, err := publication.DecodeKit(res.FixKit)
	if err != nil {
		return undone(err)
	}
	switch {
	case k != nil:
		if err := d.folder("", kitFiles(k)); err != nil {
			return err
		}
		if err := d.keep(); err != nil {
			return err
		}
		note("wrote the fix kit to %s: begin with %s", clean(d.path), clean(filepath.Join(d.path, publication.NameIndex)))
	case res.Outcome == report.OutcomeSuccessful:
		note("nothing has to be fixed: %s was not written", clean(d.path))
	default:
		note("without a verdict there is nothing to fix: %s was not written", clean(d.path))
	}
	return nil
}

// kitIndex is the file that lists the folders of many kits.
const kitIndex = "INDEX.txt"

// kitsOf writes the kits of all results that pass a filter, each in a folder
// of its own, with an index. Results without one are named there with the
// reason.
type kitsOf struct {
	d     *newDir
	index *bufio.Writer
	names folderNames
	// seen are the runs that were written.
	seen map[store.RunID]bool
	// kits counts folders, old failed and partial sites without a kit.
	kits, old int
}

func writeKits(ctx context.Context, s streams, cfg *config, st *store.Store, b *store.Batch, f store.Filter, path string) error {
	d, err := openDir(path, "--"+fixKitName)
	if err != nil {
		return err
	}
	defer d.drop()
	file, err := os.Create(filepath.Join(d.tmp, kitIndex))
	if err != nil {
		return d.failed(err)
	}
	defer file.Close()
	w := newKits(d, b, file)
	if err := st.EachResult(ctx, f, true, w.write); err != nil {
		if _, ok := errors.AsType[*exitError](err); ok || ctx.Err() != nil {
			return err
		}
		return undone(err)
	}
	if err := errors.Join(w.index.Flush(), file.Close()); err != nil {
		return d.failed(err)
	}
	if w.old > 0 {
		fmt.Fprintf(s.Err, "%s no fix kit: they were audited by a version of agentaudit that made none; %s makes them\n",
			plural(int64(w.old), "result has", "results have"), cfg.hint("retry", string(b.ID), "--outcome", string(report.OutcomeFailed)))
	}
	if w.kits == 0 {
		fmt.Fprintf(s.Err, "no result has a fix kit: %s was not written\n", clean(path))
		return nil
	}
	if err := d.keep(); err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "wrote %s to %s: begin with %s\n", plural(int64(w.kits), "fix kit", "fix kits"), clean(path), clean(filepath.Join(path, kitIndex)))
	return nil
}

func newKits(d *newDir, b *store.Batch, index io.Writer) *kitsOf {
	w := &kitsOf{d: d, index: bufio.NewWriter(index), names: folderNames{strings.ToLower(kitIndex): 1}, seen: map[store.RunID]bool{}}
	fmt.Fprintf(w.index, "Fix kits of batch %s (%s): what to publish for each site that is failed or partial.\n"+
		"Each folder begins with %s.\n\n", b.ID, clean(batchName(b)), publication.NameIndex)
	return w
}

func (w *kitsOf) write(r store.Row) error {
	if r.Outcome != report.OutcomeFailed && r.Outcome != report.OutcomePartial || w.seen[r.Run] {
		return nil
	}
	w.seen[r.Run] = true
	k, err := publication.DecodeKit(r.Parts.FixKit)
	if err != nil {
		return undone(fmt.Errorf("%s: %w", r.Target, err))
	}
	if k == nil {
		w.old++
		_, err := fmt.Fprintf(w.index, "(none)  %s %s  %s: audited by a version that made no fix kits; audit it again\n", r.Outcome, r.Reason, clean(r.Target))
		return err
	}
	name := w.names.next(folderOf(r.Target))
	if err := w.d.folder(name, kitFiles(k)); err != nil {
		return err
	}
	w.kits++
	var parts []string
	if n := int64(len(k.Files)); n > 0 {
		parts = append(parts, plural(n, "file", "files")+" to publish")
	}
	if n := int64(len(k.ByHand)); n > 0 {
		parts = append(parts, plural(n, "thing", "things")+" to do by hand")
	}
	_, err = fmt.Fprintf(w.index, "%s/  %s %s  %s: %s\n", name, r.Outcome, r.Reason, clean(r.Target), strings.Join(parts, ", "))
	return err
}

// folderNames gives every folder a name of its own. It holds the names taken,
// each with the number of the last folder that wanted it.
type folderNames map[string]int

// next is the name that was wished for, with a number where others have it.
func (n folderNames) next(wish string) string {
	name := wish
	for n[name] > 0 {
		n[wish]++
		name = fmt.Sprintf("%s-%d", wish, n[wish])
	}
	n[name]++
	return name
}

// folderOf is a folder name for a target: its host, and the path where it is
// not the usual one.
func folderOf(target string) string {
	name := target
	if u, err := url.Parse(target); err == nil {
		name = u.Hostname() + strings.TrimSuffix(u.EscapedPath(), "/"+publication.NameJSON)
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, name)
	// No name begins or ends in what systems treat apart.
	name = strings.Trim(name[:min(len(name), 100)], ".-_")
	if name == "" || publication.IsDeviceName(name) {
		name = strings.TrimSuffix("site-"+name, "-")
	}
	return name
}
