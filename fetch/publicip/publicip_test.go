package publicip

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"code.dny.dev/ssrf"
)

// other is the second table, by other authors, that also guards the socket.
var other = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork())

// edges are the first and last address of a prefix, and their neighbours
// outside, where there are any.
func edges(p netip.Prefix) (inside, outside []netip.Addr) {
	first := p.Masked().Addr()
	last := first.AsSlice()
	for bit := p.Bits(); bit < first.BitLen(); bit++ {
		last[bit/8] |= 1 << (7 - bit%8)
	}
	end, _ := netip.AddrFromSlice(last)
	for _, a := range []netip.Addr{first.Prev(), end.Next()} {
		if a.IsValid() {
			outside = append(outside, a)
		}
	}
	return []netip.Addr{first, end}, outside
}

func TestBlocksToTheirEdges(t *testing.T) {
	for _, b := range append(append([]Block(nil), ipv4Blocks...), ipv6Blocks...) {
		inside, outside := edges(b.Prefix)
		for _, a := range inside {
			err := Check(a)
			ne, ok := errors.AsType[*NotPublicError](err)
			if !ok || ne.Addr != a || ne.Block == "" || !strings.Contains(err.Error(), a.String()) {
				t.Errorf("%s in %s: %v", a, b.Prefix, err)
			}
		}
		// Outside, both tables must agree: blocks have neighbours.
		for _, a := range append(inside, outside...) {
			if Public(a) != (other.SafeAddr(a) == nil) {
				t.Errorf("%s beside %s: public %v, the other table says %v", a, b.Prefix, Public(a), other.SafeAddr(a))
			}
		}
	}
}

func TestTheOtherTableRefusesNothingMore(t *testing.T) {
	for _, p := range append(append([]netip.Prefix{ssrf.IPv6GlobalUnicast}, ssrf.IPv4DeniedPrefixes...), ssrf.IPv6DeniedPrefixes...) {
		inside, outside := edges(p)
		for _, a := range append(inside, outside...) {
			if Public(a) != (other.SafeAddr(a) == nil) {
				t.Errorf("%s at the edge of %s: public %v, the other table says %v", a, p, Public(a), other.SafeAddr(a))
			}
		}
	}
}

func TestPublicAddresses(t *testing.T) {
	for _, a := range []string{
		"1.0.0.0", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0",
		"172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2000::", "2001:200::", "2001:4860:4860::8888", "2003::1", "2606:4700::1", "2a00::1", "3ffe::1", "3fff:1000::",
	} {
		if err := Check(netip.MustParseAddr(a)); err != nil {
			t.Errorf("%s: %v", a, err)
		}
	}
}

func TestFormsThatAreNeverPublic(t *testing.T) {
	for _, a := range []netip.Addr{
		{}, netip.MustParseAddr("::ffff:8.8.8.8"), netip.MustParseAddr("::8.8.8.8"), netip.MustParseAddr("64:ff9b::8.8.8.8"),
		netip.MustParseAddr("2002:808:808::1"), netip.MustParseAddr("2606:4700::1%eth0"), netip.MustParseAddr("fe80::1%1"), netip.MustParseAddr("4000::1"), netip.MustParseAddr("1::"),
	} {
		if Public(a) {
			t.Errorf("%s is called public", a)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1})
	f.Add(netip.MustParseAddr("64:ff9b::1").AsSlice())
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := netip.AddrFromSlice(b)
		if !ok {
			return
		}
		if Public(a) != (other.SafeAddr(a) == nil) {
			t.Fatalf("%s: public %v, the other table says %v", a, Public(a), other.SafeAddr(a))
		}
		if Public(a) && (a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() || !a.IsGlobalUnicast()) {
			t.Fatalf("%s", a)
		}
	})
}
