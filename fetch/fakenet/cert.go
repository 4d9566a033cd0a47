package fakenet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"strings"
	"sync"
	"time"
)

// CertKind is a good certificate or a way of having a bad one.
type CertKind int

// The kinds of certificate.
const (
	GoodCert CertKind = iota
	// ExpiredCert ran out thirty days before it is first shown.
	ExpiredCert
	// EarlyCert will be valid in thirty days.
	EarlyCert
	// WrongHostCert is for elsewhere.example.
	WrongHostCert
	// SelfSignedCert is its own issuer.
	SelfSignedCert
	// UnknownIssuerCert comes from an issuer that nobody trusts.
	UnknownIssuerCert
	// ClientCert is good but asks the visitor for one of his own.
	ClientCert
)

// authority issues the certificates of one Net. All leaves share one key:
// what is tried is the reading, and a key for each of thousands of sites
// would cost more than the rest.
type authority struct {
	pool    *x509.CertPool
	cert    *x509.Certificate
	key     *ecdsa.PrivateKey
	leafKey *ecdsa.PrivateKey

	mu      sync.Mutex
	serial  int64
	configs map[certName]*tls.Config
	rogue   *authority
}

type certName struct {
	host string
	kind CertKind
}

func newAuthority() *authority {
	a := &authority{pool: x509.NewCertPool(), key: newKey(), leafKey: newKey(), configs: map[certName]*tls.Config{}}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "fakenet root"},
		NotBefore:             now.AddDate(-1, 0, 0),
		NotAfter:              now.AddDate(10, 0, 0),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	a.serial = 1
	a.cert = parse(sign(template, template, a.key, a.key))
	a.pool.AddCert(a.cert)
	return a
}

func newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

func sign(template, parent *x509.Certificate, leaf, issuer *ecdsa.PrivateKey) []byte {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &leaf.PublicKey, issuer)
	if err != nil {
		panic(err)
	}
	return der
}

func parse(der []byte) *x509.Certificate {
	c, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return c
}

// config is the TLS configuration of a host, made when it is first needed.
func (a *authority) config(host string, kind CertKind) *tls.Config {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := certName{host, kind}
	if cfg := a.configs[name]; cfg != nil {
		return cfg
	}
	cfg := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{a.issue(host, kind)}, PrivateKey: a.leafKey}},
		NextProtos:   []string{"http/1.1"},
	}
	if kind == ClientCert {
		cfg.ClientAuth = tls.RequireAnyClientCert
	}
	a.configs[name] = cfg
	return cfg
}

// issue needs mu.
func (a *authority) issue(host string, kind CertKind) []byte {
	now := time.Now()
	a.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial),
		Subject:      pkix.Name{CommonName: "fakenet site"},
		NotBefore:    now.AddDate(0, 0, -60),
		NotAfter:     now.AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(strings.Trim(host, "[]")); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	switch kind {
	case ExpiredCert:
		template.NotAfter = now.AddDate(0, 0, -30)
	case EarlyCert:
		template.NotBefore = now.AddDate(0, 0, 30)
	case WrongHostCert:
		template.DNSNames, template.IPAddresses = []string{"elsewhere.example"}, nil
	case SelfSignedCert:
		return sign(template, template, a.leafKey, a.leafKey)
	case UnknownIssuerCert:
		if a.rogue == nil {
			a.rogue = newAuthority()
		}
		return sign(template, a.rogue.cert, a.leafKey, a.rogue.key)
	}
	return sign(template, a.cert, a.leafKey, a.key)
}
