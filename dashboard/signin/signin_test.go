package signin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const known = "correct horse battery"

func TestAHashIsOfItsPasswordAlone(t *testing.T) {
	a, err := Hash(known)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Hash(known)
	if err != nil {
		t.Fatal(err)
	}
	if a == b || !strings.HasPrefix(a, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("hashes %s and %s", a, b)
	}
	h, err := parseHash(a)
	if err != nil || h.String() != a {
		t.Fatalf("read again: %s, %v", h, err)
	}
	if !h.matches(known) || h.matches(known+" ") || h.matches("") {
		t.Error("the hash lets the wrong ones in")
	}
}

// The vector is of the argon2 program (echo -n password | argon2 somesalt -id -t 2 -k 65536 -p 1).
func TestHashesOfOtherProgramsAreTaken(t *testing.T) {
	u, err := Parse("x:$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc")
	if err != nil {
		t.Fatal(err)
	}
	if !u.Check("x", "password") || u.Check("x", "passwore") {
		t.Error("the vector does not hold")
	}
}

func TestPasswordsHaveBounds(t *testing.T) {
	for _, p := range []string{"", "ninechars", strings.Repeat("x", LongestPassword+1)} {
		if _, err := Hash(p); !errors.Is(err, ErrPassword) {
			t.Errorf("%d bytes: %v", len(p), err)
		}
	}
	if _, err := Hash("zehn ä ü ö"); err != nil {
		t.Errorf("ten characters: %v", err)
	}
}

func TestFilesOfUsers(t *testing.T) {
	hash, err := Hash(known)
	if err != nil {
		t.Fatal(err)
	}
	u, err := Parse("# who may\n\nanna:" + hash + "\r\n b.b@c : " + hash + "\n")
	if err != nil {
		t.Fatal(err)
	}
	if !u.Check("anna", known) || !u.Check("b.b@c", known) || u.Check("Anna", known) || u.Check("", known) || u.Check("anna", "") || u.Check("nobody", known) {
		t.Error("the wrong ones are let in")
	}
	var none *Users
	if none.Check("anna", known) || none.Proof("anna") != "" {
		t.Error("no users let somebody in")
	}
	alone, err := Parse(hash)
	if err != nil || !alone.Check(DefaultUser, known) {
		t.Errorf("a hash alone: %v", err)
	}
	for text, says := range map[string]string{
		"":                          "no user",
		"# nobody\n":                "no user",
		"a b:" + hash:               "line 1",
		"a:" + hash + "\na:" + hash: "twice",
		"a:secret":                  "hash of a",
		"a:$2y$10$abc":              "argon2id",
		"a:" + strings.Replace(hash, "v=19", "v=16", 1):          "version",
		"a:" + strings.Replace(hash, "m=19456", "m=99999999", 1): "bounds",
		"a:" + strings.Replace(hash, "t=2", "t=0", 1):            "bounds",
		"a:" + strings.Replace(hash, "p=1", "p=x", 1):            "parameters",
		"a:" + hash[:len(hash)-30]:                               "key",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}

func TestAFileThatAllCanReadIsRefused(t *testing.T) {
	hash, err := Hash(known)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(path, []byte("anna:"+hash+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if u, err := ReadFile(path); err != nil || !u.Check("anna", known) {
		t.Errorf("%v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("readable by all: %v", err)
	}
	if _, err := ReadFile(path + "-none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func TestAProofChangesWithNameAndPassword(t *testing.T) {
	one, err := Hash(known)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Hash(known)
	if err != nil {
		t.Fatal(err)
	}
	u, err := Parse("a:" + one + "\nb:" + one)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Parse("a:" + two)
	if err != nil {
		t.Fatal(err)
	}
	proof := u.Proof("a")
	if proof == "" || u.Proof("a") != proof || u.Proof("a") == u.Proof("b") || u.Proof("a") == v.Proof("a") || v.Proof("b") != "" {
		t.Error("proofs do not tell sessions apart")
	}
}

func TestAttemptsAreLimited(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var l Limit
	fail := func(address, name string, n int) {
		t.Helper()
		for range n {
			if wait := l.Begin(address, name, now); wait != 0 {
				t.Fatalf("%s from %s has to wait %v too early", name, address, wait)
			}
		}
	}
	fail("1.1.1.1", "anna", mostPair)
	if got := l.Begin("1.1.1.1", "anna", now); got != window {
		t.Errorf("wait %v", got)
	}
	fail("1.1.1.1", "bert", 1)
	fail("2.2.2.2", "anna", 1)
	now = now.Add(window)
	fail("1.1.1.1", "anna", 1) // the window has ended
	l.Succeeded("1.1.1.1", "anna", now)
	fail("1.1.1.1", "anna", mostPair) // a success begins anew
	for i := range mostAddress - mostPair {
		fail("1.1.1.1", string(rune('b'+i)), 1)
	}
	if l.Begin("1.1.1.1", "zoe", now) == 0 {
		t.Error("one address may try one name after the other")
	}
	for i := range mostPair {
		fail(fmt.Sprintf("2001:db8:1:2::%d", i), "ute", 1)
	}
	if l.Begin("2001:db8:1:2:ffff::1", "ute", now) == 0 || l.Begin("2001:db8:1:3::1", "ute", now) != 0 {
		t.Error("one network of IPv6 is not one address")
	}
	for i := range 3 * mostRemembered {
		l.Begin(time.Duration(i).String(), "x"+time.Duration(i).String(), now)
		l.Succeeded(time.Duration(i).String(), "y", now)
	}
	if len(l.failed) > mostRemembered+3 || len(l.known) > mostRemembered+1 {
		t.Errorf("%d and %d are remembered", len(l.failed), len(l.known))
	}
}

// Attempts count before they are looked at: many at a time are not more.
func TestAttemptsAtOnceAreLimited(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var l Limit
	var begun atomic.Int64
	var all sync.WaitGroup
	for range 80 {
		all.Go(func() {
			if l.Begin("1.1.1.1", "anna", now) == 0 {
				begun.Add(1)
			}
		})
	}
	all.Wait()
	if n := begun.Load(); n != mostPair {
		t.Errorf("%d of 80 attempts at once are looked at, want %d", n, mostPair)
	}
}

// A name that many addresses guess at is slowed down, not locked, and not at
// all where its user has signed in before.
func TestStrangersDoNotLockAUserOut(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var l Limit
	if l.Begin("9.9.9.9", "carl", now) != 0 {
		t.Fatal("refused at once")
	}
	l.Succeeded("9.9.9.9", "carl", now)
	for i := range mostName {
		if wait := l.Begin(fmt.Sprint("1.1.0.", i), "carl", now); wait != 0 {
			t.Fatalf("attempt %d has to wait %v", i, wait)
		}
	}
	if l.Begin("1.1.1.1", "carl", now) != 0 {
		t.Error("the first that is slowed down is refused")
	}
	if got := l.Begin("1.1.1.2", "carl", now); got != slowly {
		t.Errorf("the next one waits %v, want %v", got, slowly)
	}
	if l.Begin("9.9.9.9", "carl", now) != 0 {
		t.Error("carl is locked out where he has signed in before")
	}
	if l.Begin("1.1.1.3", "dora", now) != 0 {
		t.Error("others have to wait for it")
	}
	now = now.Add(slowly)
	if l.Begin("8.8.8.8", "carl", now) != 0 {
		t.Error("carl is locked out from elsewhere")
	}
}
