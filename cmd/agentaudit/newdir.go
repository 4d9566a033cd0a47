package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// namedFile is one file of a new directory.
type namedFile struct{ name, content string }

// newDir is a directory that must not exist yet and appears under its name
// when all its files are written, or not at all.
type newDir struct{ path, tmp string }

// openDir begins a directory beside its place; flag is who asked for it, for
// errors. It must be kept or dropped.
func openDir(path, flag string) (*newDir, error) {
	if path == "" {
		return nil, usagef("%s needs the name of a new directory", flag)
	}
	if _, err := os.Lstat(path); err == nil {
		return nil, usagef("%s exists already; %s needs a new directory", clean(path), flag)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, undone(fmt.Errorf("cannot write %s: %w", path, err))
	}
	tmp, err := os.MkdirTemp(filepath.Dir(filepath.Clean(path)), ".agentaudit-*")
	if err != nil {
		return nil, undone(fmt.Errorf("cannot write %s: %w", path, err))
	}
	d := &newDir{path, tmp}
	if err := os.Chmod(tmp, 0o755); err != nil {
		d.drop()
		return nil, d.failed(err)
	}
	return d, nil
}

func (d *newDir) failed(err error) error {
	if err == nil {
		return nil
	}
	return undone(fmt.Errorf("cannot write %s: %w", d.path, err))
}

// folder makes a folder in it, "" for none, and writes files there. Names must
// be plain.
func (d *newDir) folder(name string, files []namedFile) error {
	at := filepath.Join(d.tmp, name)
	if name != "" {
		if err := os.Mkdir(at, 0o755); err != nil {
			return d.failed(err)
		}
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(at, f.name), []byte(f.content), 0o644); err != nil {
			return d.failed(err)
		}
	}
	return nil
}

// keep gives the directory its name.
func (d *newDir) keep() error {
	// A rename over a directory that appeared meanwhile fails unless it is
	// empty, and then nothing is lost.
	return d.failed(os.Rename(d.tmp, d.path))
}

// drop removes what is not kept.
func (d *newDir) drop() { _ = os.RemoveAll(d.tmp) }

// writeDir makes a directory that must not exist yet, with its files: all of
// them or nothing.
func writeDir(path string, files []namedFile) error {
	d, err := openDir(path, "--out")
	if err != nil {
		return err
	}
	defer d.drop()
	if err := d.folder("", files); err != nil {
		return err
	}
	return d.keep()
}
