package fetch

import (
	"context"
	"net"
	"net/netip"
)

// Guard is the second address check.
func Guard(a netip.AddrPort) error { return guardian.SafeAddrPort(a) }

// DialKernel is the production dialler.
func DialKernel(ctx context.Context, a netip.AddrPort) (net.Conn, error) { return dialKernel(ctx, a) }
