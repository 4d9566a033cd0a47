//go:build linux

package e2e

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"agentaudit/queue/queuetest"
)

// The environment by which the process outside talks to the one inside.
const (
	envInside = "AGENTAUDIT_E2E_INSIDE" // set in the namespace
	envBinary = "AGENTAUDIT_E2E_BINARY" // the program under test
)

// missing says why there is no namespace, nil inside one.
var missing error

// program is the program under test.
var program string

// TestMain runs the tests in a second process that lives in namespaces of its
// own. Those have no name: the kernel takes them down with their last process,
// however that ends.
func TestMain(m *testing.M) {
	flag.Parse()
	list := flag.Lookup("test.list")
	if testing.Short() || list != nil && list.Value.String() != "" {
		missing = errors.New("left out by -short")
		os.Exit(m.Run())
	}
	if os.Getenv(envInside) != "" {
		program = os.Getenv(envBinary)
		missing = furnish()
		os.Exit(m.Run())
	}
	code, err := enter()
	if err != nil {
		missing = err
		code = m.Run()
	}
	os.Exit(code)
}

// enter builds the program and runs this test binary again inside. The error
// says why no namespace can be made; failures inside are exit codes.
func enter() (int, error) {
	dir, err := os.MkdirTemp("", "agentaudit-e2e")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	// The build is done out here, where modules can be downloaded.
	built := filepath.Join(dir, "agentaudit")
	build := exec.Command("go", "build", "-o", built, "agentaudit/cmd/agentaudit")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the program under test: %v\n%s", err, out)
		return 1, nil
	}
	var refused error
	for _, attr := range []*syscall.SysProcAttr{
		{Unshareflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS},
		// Without root, a user namespace in which we are root.
		{
			Unshareflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
			UidMappings:  []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings:  []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		},
	} {
		attr.Pdeathsig = syscall.SIGKILL
		inside := exec.Command("/proc/self/exe", os.Args[1:]...)
		inside.Env = append(os.Environ(), envInside+"=1", envBinary+"="+built, "TMPDIR="+dir)
		inside.Stdin, inside.Stdout, inside.Stderr = os.Stdin, os.Stdout, os.Stderr
		inside.SysProcAttr = attr
		if err := inside.Start(); err != nil {
			refused = errors.Join(refused, fmt.Errorf("no network namespace: %w", err))
			continue
		}
		// A signal is for the tests; what they leave is tidied up here.
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		go func() {
			for s := range signals {
				inside.Process.Signal(s)
			}
		}()
		inside.Wait()
		if code := inside.ProcessState.ExitCode(); code >= 0 {
			return code, nil
		}
		fmt.Fprintln(os.Stderr, "the tests inside the namespace ended by a signal:", inside.ProcessState)
		return 1, nil
	}
	return 0, refused
}

// furnish prepares the namespace that the process finds itself in: the
// loopback device, on which every address there is is local, and our name
// server in resolv.conf.
func furnish() error {
	for _, args := range []string{
		"link set lo up",
		// Addresses without a route of their own are local too, so that no
		// connection fails for want of a route before it can be seen.
		"route add local 0.0.0.0/0 dev lo",
		"-6 route add local ::/0 dev lo",
		"route add unreachable " + unroutable.String() + " table local",
	} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", args, err, strings.TrimSpace(string(out)))
		}
	}
	conf := filepath.Join(os.TempDir(), "resolv.conf")
	// The options are Go's and libc's; ours has its own.
	if err := os.WriteFile(conf, []byte("nameserver 127.0.0.1\n"), 0o644); err != nil {
		return err
	}
	if err := syscall.Mount(conf, "/etc/resolv.conf", "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount over /etc/resolv.conf: %w", err)
	}
	return nil
}

// inside skips the test where there is no namespace.
func inside(t *testing.T) {
	t.Helper()
	switch {
	case testing.Short():
		t.Skip("takes too long for -short")
	case missing != nil:
		queuetest.Require(t, "netns", missing.Error())
	}
	watchSources(t)
}

var watched sync.Once

// watchSources makes go test notice that a remembered result is out of date:
// it does not know that the program under test was built from these files, but
// it checks those that a test has looked at.
func watchSources(t *testing.T) {
	t.Helper()
	watched.Do(func() {
		const root = "../../.."
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
				return fs.SkipDir
			case !d.IsDir() && !strings.HasSuffix(path, "_test.go"):
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
