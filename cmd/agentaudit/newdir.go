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

// writeDir makes a directory that must not exist yet, with its files: all of
// them or nothing.
func writeDir(path string, files []namedFile) error {
	if _, err := os.Lstat(path); err == nil {
		return usagef("%s exists already; --out needs a new directory", clean(path))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return undone(fmt.Errorf("cannot write %s: %w", path, err))
	}
	tmp, err := os.MkdirTemp(filepath.Dir(filepath.Clean(path)), ".agentaudit-*")
	if err != nil {
		return undone(fmt.Errorf("cannot write %s: %w", path, err))
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return undone(err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(tmp, f.name), []byte(f.content), 0o644); err != nil {
			return undone(fmt.Errorf("cannot write %s: %w", path, err))
		}
	}
	// A rename over a directory that appeared meanwhile fails unless it is
	// empty, and then nothing is lost.
	if err := os.Rename(tmp, path); err != nil {
		return undone(fmt.Errorf("cannot write %s: %w", path, err))
	}
	return nil
}
