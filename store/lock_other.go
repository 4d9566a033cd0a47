//go:build !unix

package store

import (
	"errors"
	"os"
	"path/filepath"
)

// fileLock holds DIR/lock open. Where there is no flock, the file is created
// exclusively: after a crash a person must remove it.
type fileLock struct{ f *os.File }

func lockDir(dir string) (*fileLock, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, &LockedError{Dir: dir}
	}
	return &fileLock{f}, err
}

func (l *fileLock) unlock() error {
	return errors.Join(l.f.Close(), os.Remove(l.f.Name()))
}
