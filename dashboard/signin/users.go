package signin

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

// DefaultUser is the name of the one user of a file that holds a hash alone.
const DefaultUser = "admin"

// Users are those who may sign in, with the hashes of their passwords. The nil
// *Users has none.
type Users struct {
	hashes map[string]hash
	// slow answers for unknown names, so that the time it takes does not tell
	// which names there are.
	slow hash
	// turns bounds how many hashes are computed at a time: each takes memory.
	turns chan struct{}
}

var userName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// Parse reads lines of the form name:hash; blank lines and those that begin
// with # are left out. A line with a hash alone is for [DefaultUser]. Errors
// name the line and never show a hash.
func Parse(text string) (*Users, error) {
	u := &Users{hashes: map[string]hash{}, turns: make(chan struct{}, 2), slow: hash{memory, passes, threads, make([]byte, saltLen), make([]byte, keyLen)}}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, phc, ok := strings.Cut(line, ":")
		if !ok {
			name, phc = DefaultUser, line
		}
		name = strings.TrimSpace(name)
		if !userName.MatchString(name) {
			return nil, fmt.Errorf("line %d: a user is called by up to 64 letters, digits and . _ @ -", n)
		}
		if _, twice := u.hashes[name]; twice {
			return nil, fmt.Errorf("line %d: the user %s is there twice", n, name)
		}
		h, err := parseHash(strings.TrimSpace(phc))
		if err != nil {
			return nil, fmt.Errorf("line %d: the hash of %s cannot be used: %w", n, name, err)
		}
		u.hashes[name] = h
	}
	if len(u.hashes) == 0 {
		return nil, errors.New("there is no user in it; agentaudit password NAME makes a line for one")
	}
	return u, nil
}

// ReadFile reads users from a file, which must be readable by its owner and
// group alone.
func ReadFile(path string) (*Users, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("users: %w", err)
	}
	if info.Mode().Perm()&0o007 != 0 && info.Mode().IsRegular() {
		return nil, fmt.Errorf("users: %s can be read by everybody on this machine; run chmod 600 %s: %w", path, path, fs.ErrPermission)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("users: %w", err)
	}
	u, err := Parse(string(data))
	if err != nil {
		return nil, fmt.Errorf("users: %s: %w", path, err)
	}
	return u, nil
}

// Check reports whether a password is that of a user. It takes about 20 ms of a
// core, for unknown names, too.
func (u *Users) Check(name, password string) bool {
	if u == nil || len(password) > LongestPassword {
		return false
	}
	h, known := u.hashes[name]
	if !known {
		h = u.slow
	}
	u.turns <- struct{}{}
	defer func() { <-u.turns }()
	return h.matches(password) && known
}

// Proof is a word that changes with the password of a user: a session that was
// begun under another one has ended. It is "" for an unknown name.
func (u *Users) Proof(name string) string {
	if u == nil {
		return ""
	}
	h, ok := u.hashes[name]
	if !ok {
		return ""
	}
	sum := sha256.Sum256([]byte("agentaudit session of " + name + " " + h.String()))
	return hex.EncodeToString(sum[:8])
}
