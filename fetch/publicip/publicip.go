// Package publicip decides whether an IP address may be spoken to: only
// unicast addresses that the IANA special-purpose registries leave to the
// public internet are public (specification section 2).
//
// The tables are stricter than the registries where a block is called
// globally reachable but carries infrastructure rather than websites (AS112,
// AMT, benchmarking), and they refuse every IPv6 form that hides an IPv4
// address, whatever that address is: who is reachable over IPv4 can be named
// over IPv4.
package publicip

import (
	"fmt"
	"net/netip"
)

// Block is one refused range and the reason, in words for people.
type Block struct {
	Prefix netip.Prefix
	// Name says what the range is for, as in "a private network (RFC 1918)".
	Name string
}

func block(prefix, name string) Block { return Block{netip.MustParsePrefix(prefix), name} }

// ipv4Blocks follow https://www.iana.org/assignments/iana-ipv4-special-registry
// plus multicast, which that registry does not list.
var ipv4Blocks = []Block{
	block("0.0.0.0/8", "this network (RFC 791)"),
	block("10.0.0.0/8", "a private network (RFC 1918)"),
	block("100.64.0.0/10", "carrier-grade NAT (RFC 6598)"),
	block("127.0.0.0/8", "the local machine (RFC 1122)"),
	block("169.254.0.0/16", "a link-local network (RFC 3927)"),
	block("172.16.0.0/12", "a private network (RFC 1918)"),
	block("192.0.0.0/24", "protocol assignments (RFC 6890)"),
	block("192.0.2.0/24", "documentation (RFC 5737)"),
	block("192.31.196.0/24", "the AS112 sink (RFC 7535)"),
	block("192.52.193.0/24", "multicast tunnels (RFC 7450)"),
	block("192.88.99.0/24", "6to4 relays (RFC 7526)"),
	block("192.168.0.0/16", "a private network (RFC 1918)"),
	block("192.175.48.0/24", "the AS112 sink (RFC 7534)"),
	block("198.18.0.0/15", "benchmarking (RFC 2544)"),
	block("198.51.100.0/24", "documentation (RFC 5737)"),
	block("203.0.113.0/24", "documentation (RFC 5737)"),
	block("224.0.0.0/4", "multicast (RFC 5771)"),
	block("240.0.0.0/4", "reserved addresses (RFC 1112)"),
}

// ipv6Global is the only part of IPv6 from which public unicast addresses are
// given out (RFC 4291 section 2.4, RFC 3587).
var ipv6Global = netip.MustParsePrefix("2000::/3")

// ipv6Blocks follow https://www.iana.org/assignments/iana-ipv6-special-registry.
// Ranges outside 2000::/3 stand here for their names alone.
var ipv6Blocks = []Block{
	block("::1/128", "the local machine (RFC 4291)"),
	block("::/128", "the unspecified address (RFC 4291)"),
	block("::ffff:0:0/96", "an IPv4-mapped address (RFC 4291)"),
	block("::/96", "an IPv4-compatible address (RFC 4291)"),
	block("64:ff9b::/96", "an IPv4 address behind NAT64 (RFC 6052)"),
	block("64:ff9b:1::/48", "an IPv4 address behind local NAT64 (RFC 8215)"),
	block("100::/64", "the discard-only range (RFC 6666)"),
	block("100:0:0:1::/64", "a dummy prefix (RFC 9780)"),
	block("2001::/32", "a Teredo tunnel (RFC 4380)"),
	block("2001:10::/28", "ORCHID (RFC 4843)"),
	block("2001:20::/28", "ORCHIDv2 (RFC 7343)"),
	block("2001::/23", "protocol assignments (RFC 2928)"),
	block("2001:db8::/32", "documentation (RFC 3849)"),
	block("2002::/16", "a 6to4 tunnel (RFC 3056)"),
	block("2620:4f:8000::/48", "the AS112 sink (RFC 7534)"),
	block("3fff::/20", "documentation (RFC 9637)"),
	block("5f00::/16", "segment routing (RFC 9602)"),
	block("fc00::/7", "a private network (RFC 4193)"),
	block("fe80::/10", "a link-local network (RFC 4291)"),
	block("fec0::/10", "a site-local network (RFC 3879)"),
	block("ff00::/8", "multicast (RFC 4291)"),
}

// NotPublicError says why an address is refused.
type NotPublicError struct {
	Addr netip.Addr
	// Block is the range that the address lies in, in words.
	Block string
}

// Error names the address and the range it belongs to.
func (e *NotPublicError) Error() string {
	return fmt.Sprintf("%s is not a public address: it belongs to %s", e.Addr, e.Block)
}

// Check returns nil for a public unicast address and a [*NotPublicError] for
// any other. An address with a zone is never public; an IPv4-mapped IPv6
// address is refused in that form, so callers that accept both forms of one
// address (a resolver's answers) unmap it first.
func Check(a netip.Addr) error {
	switch {
	case !a.IsValid():
		return &NotPublicError{a, "no network at all"}
	case a.Zone() != "":
		return &NotPublicError{a, "a zone of the local machine (RFC 4007)"}
	case a.Is4():
		return inBlocks(a, ipv4Blocks)
	}
	if err := inBlocks(a, ipv6Blocks); err != nil {
		return err
	}
	if !ipv6Global.Contains(a) {
		return &NotPublicError{a, "unassigned IPv6 space (RFC 4291)"}
	}
	return nil
}

// Public reports whether [Check] finds nothing against the address.
func Public(a netip.Addr) bool { return Check(a) == nil }

func inBlocks(a netip.Addr, blocks []Block) error {
	for _, b := range blocks {
		if b.Prefix.Contains(a) {
			return &NotPublicError{a, b.Name}
		}
	}
	return nil
}
