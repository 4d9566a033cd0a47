package queuetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// program starts a redis-server on a TCP port of the loopback for the test, or
// skips it where there is none, and waits until ready says that it serves.
func program(t testing.TB, dir string, ready func() error, args ...string) {
	t.Helper()
	cmd := exec.Command("redis-server", args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for patience := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		err := ready()
		if err == nil {
			return
		}
		if time.Now().After(patience) {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Fatalf("redis-server is not ready: %v\n%s", err, log)
		}
	}
}

// freePort finds a port that nobody listens on, low enough for the second one
// of a cluster, which is 10,000 higher.
func freePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if port > 10_000 && port < 55_000 {
			return strconv.Itoa(port)
		}
	}
	t.Fatal("no free port below 55000")
	return ""
}

func need(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		Require(t, "redis", err.Error())
	}
	return t.TempDir()
}

func ask(port string, f func(context.Context, *redis.Client) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port, MaxRetries: -1, Protocol: 2, DisableIdentity: true})
	defer c.Close()
	return f(ctx, c)
}

// Cluster starts a cluster of one node and returns its URL.
func Cluster(t testing.TB) string {
	t.Helper()
	dir, port := need(t), freePort(t)
	asked := false
	program(t, dir, func() error {
		return ask(port, func(ctx context.Context, c *redis.Client) error {
			if !asked {
				if err := c.ClusterAddSlotsRange(ctx, 0, 16383).Err(); err != nil {
					return err
				}
				asked = true
			}
			// It takes a moment before the node believes in its own slots.
			return c.Set(ctx, "ready", 1, time.Second).Err()
		})
	}, "--port", port, "--bind", "127.0.0.1", "--cluster-enabled", "yes", "--save", "", "--dir", dir, "--logfile", "log")
	return "redis-cluster://127.0.0.1:" + port
}

// Sentinel starts a server with a sentinel that watches it, and returns the
// URL by which the sentinel is asked for the server.
func Sentinel(t testing.TB) string {
	t.Helper()
	dir, port, watch := need(t), freePort(t), freePort(t)
	program(t, dir, func() error {
		return ask(port, func(ctx context.Context, c *redis.Client) error { return c.Ping(ctx).Err() })
	}, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", dir, "--logfile", "log")
	conf := filepath.Join(dir, "sentinel.conf")
	text := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nlogfile log-sentinel\nsentinel monitor main 127.0.0.1 %s 1\n", watch, dir, port)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program(t, dir, func() error {
		return ask(watch, func(ctx context.Context, c *redis.Client) error { return c.Ping(ctx).Err() })
	}, conf, "--sentinel")
	return "redis-sentinel://127.0.0.1:" + watch + "?master_name=main"
}

// TLS starts a server that takes TLS connections only, from clients with a
// certificate, and wants the password, and returns its URL without that.
func TLS(t testing.TB, password string) string {
	t.Helper()
	dir, port := need(t), freePort(t)
	certificate(t, dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	program(t, dir, func() error {
		c, err := net.DialTimeout("tcp", "127.0.0.1:"+port, time.Second)
		if err == nil {
			c.Close()
		}
		return err
	}, "--port", "0", "--tls-port", port, "--bind", "127.0.0.1", "--tls-cert-file", at("cert.pem"), "--tls-key-file", at("key.pem"),
		"--tls-ca-cert-file", at("cert.pem"), "--requirepass", password, "--save", "", "--dir", dir, "--logfile", "log")
	q := url.Values{"ca": {at("cert.pem")}, "cert": {at("cert.pem")}, "key": {at("key.pem")}}
	return "rediss://127.0.0.1:" + port + "?" + q.Encode()
}

// certificate writes one that vouches for itself, for server and client.
func certificate(t testing.TB, dir string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
