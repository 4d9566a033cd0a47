package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// writeNew writes a file that must not exist yet: whole or not at all, and
// never over another one.
func writeNew(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".agentaudit-*")
	if err != nil {
		return undone(fmt.Errorf("cannot write %s: %w", path, err))
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err != nil {
		return undone(fmt.Errorf("cannot write %s: %w", path, err))
	}
	// Link fails where the name is taken; a rename would overwrite.
	if err := os.Link(tmp.Name(), path); errors.Is(err, fs.ErrExist) {
		return usagef("%s exists already and is never overwritten; remove it, or name another file with --out", clean(path))
	} else if err != nil {
		return undone(fmt.Errorf("cannot write %s: %w", path, err))
	}
	return nil
}

// readBounded reads a local file of at most most bytes. A file beyond that is
// an error of input that says so.
func readBounded(path string, most int64, what string) ([]byte, error) {
	data, err := readBeyond(path, most, what)
	if err == nil && int64(len(data)) > most {
		return nil, usagef("%s is over the limit of %d bytes for %s; shorten it", clean(path), most, what)
	}
	return data, err
}

// readBeyond reads a local file, of one that is larger than most bytes one
// byte more than that: enough to see that it is.
func readBeyond(path string, most int64, what string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("cannot read %s: %w", what, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, usagef("cannot read %s: %w", what, err)
	}
	return data, nil
}
