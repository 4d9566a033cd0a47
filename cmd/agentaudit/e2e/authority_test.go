//go:build linux

package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"agentaudit/fetch/fakenet"
)

// authority issues the certificates of the internet. The program under test
// trusts it by SSL_CERT_FILE.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// leafKey is shared by all sites: what is tried is the reading of it.
	leafKey *ecdsa.PrivateKey
	rogue   *authority

	mu     sync.Mutex
	serial int64
	issued map[certificate]*tls.Certificate
}

type certificate struct {
	host string
	kind fakenet.CertKind
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{key: newKey(t), leafKey: newKey(t), serial: 1, issued: map[certificate]*tls.Certificate{}}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err == nil {
		a.cert, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// pem is the root in the form of SSL_CERT_FILE.
func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// issue makes the certificate of a host, once.
func (a *authority) issue(host string, kind fakenet.CertKind) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.issued[certificate{host, kind}]; c != nil {
		return c, nil
	}
	now := time.Now()
	a.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: pkix.Name{CommonName: "site"},
		NotBefore: now.AddDate(0, 0, -60), NotAfter: now.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	parent, key := a.cert, a.key
	switch kind {
	case fakenet.ExpiredCert:
		template.NotAfter = now.AddDate(0, 0, -30)
	case fakenet.EarlyCert:
		template.NotBefore = now.AddDate(0, 0, 30)
	case fakenet.WrongHostCert:
		template.DNSNames, template.IPAddresses = []string{"elsewhere.example"}, nil
	case fakenet.SelfSignedCert:
		parent, key = template, a.leafKey
	case fakenet.UnknownIssuerCert:
		parent, key = a.rogue.cert, a.rogue.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &a.leafKey.PublicKey, key)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.leafKey}
	a.issued[certificate{host, kind}] = c
	return c, nil
}
