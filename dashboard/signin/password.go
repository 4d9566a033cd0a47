package signin

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// What a new hash costs: the first choice of the OWASP Password Storage Cheat
// Sheet, so that a few sign-ins at a time do not crowd out audits.
const (
	memory  = 19 << 10 // KiB
	passes  = 2
	threads = 1
	saltLen = 16
	keyLen  = 32
)

// Bounds of a password: shorter ones can be guessed, longer ones are no
// passwords.
const (
	ShortestPassword = 10 // characters
	LongestPassword  = 1 << 10
)

// ErrPassword is the error for a password that is too short or too long.
var ErrPassword = fmt.Errorf("a password has at least %d characters and at most %d bytes", ShortestPassword, LongestPassword)

// Hash makes the argon2id hash of a password as a PHC string
// ($argon2id$v=19$m=…,t=…,p=…$salt$key). The error wraps [ErrPassword].
func Hash(password string) (string, error) {
	if utf8.RuneCountInString(password) < ShortestPassword || len(password) > LongestPassword {
		return "", ErrPassword
	}
	salt := make([]byte, saltLen)
	rand.Read(salt) // never fails
	h := hash{memory, passes, threads, salt, argon2.IDKey([]byte(password), salt, passes, memory, threads, keyLen)}
	return h.String(), nil
}

// hash is an argon2id hash with its parameters; memory is in KiB.
type hash struct {
	memory, passes uint32
	threads        uint8
	salt, key      []byte
}

var encoding = base64.RawStdEncoding

func (h hash) String() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.passes, h.threads, encoding.EncodeToString(h.salt), encoding.EncodeToString(h.key))
}

// parseHash reads a PHC string. Parameters are bounded: a file with absurd ones
// must not take the memory of the machine at the first sign-in.
func parseHash(s string) (hash, error) {
	var h hash
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return h, errors.New("it is no argon2id hash ($argon2id$v=19$m=…,t=…,p=…$salt$key); agentaudit password makes one")
	}
	if parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return h, fmt.Errorf("its version is %.20q, not v=%d", parts[2], argon2.Version)
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.passes, &h.threads); err != nil {
		return h, errors.New("its parameters are not m=…,t=…,p=…")
	}
	if h.memory < 8 || h.memory > 1<<20 || h.passes < 1 || h.passes > 64 || h.threads < 1 || h.threads > 64 {
		return h, fmt.Errorf("its parameters are out of bounds: %.40q", parts[3])
	}
	var err error
	if h.salt, err = encoding.DecodeString(parts[4]); err != nil || len(h.salt) < 8 || len(h.salt) > 64 {
		return h, errors.New("its salt is not 8 to 64 bytes of base64 without padding")
	}
	if h.key, err = encoding.DecodeString(parts[5]); err != nil || len(h.key) < 16 || len(h.key) > 64 {
		return h, errors.New("its key is not 16 to 64 bytes of base64 without padding")
	}
	return h, nil
}

func (h hash) matches(password string) bool {
	key := argon2.IDKey([]byte(password), h.salt, h.passes, h.memory, h.threads, uint32(len(h.key)))
	return subtle.ConstantTimeCompare(key, h.key) == 1
}
