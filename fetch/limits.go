package fetch

import "time"

// The limits of a read (specification section 2), as used for zero values in
// [Limits].
const (
	// DefaultDNS bounds the lookup of one name. The resolver's own attempts
	// (two of two seconds) end before it, so that its error, which names the
	// server that failed, is the one reported.
	DefaultDNS = 5 * time.Second
	// DefaultRead bounds one read from its turn on the host's connection to
	// the last byte of the body, connecting included, the lookup not.
	DefaultRead = 8 * time.Second
	// DefaultHeaderBytes bounds all header blocks of one answer together,
	// interim ones included.
	DefaultHeaderBytes = 64 << 10
	// DefaultInterim is how many 1xx answers may precede the final one.
	DefaultInterim = 5
	// DefaultAddresses is how many of a name's addresses are tried: two of
	// each family cover every sane setup, and a name with a hundred dead
	// addresses must not make us knock at all of them.
	DefaultAddresses = 4
	// DefaultFallback is the head start of an address over the next one
	// (RFC 8305, "Connection Attempt Delay": 250 ms recommended).
	DefaultFallback = 250 * time.Millisecond
)

// Limits bound a read. A zero field stands for its default; tests make them
// small.
type Limits struct {
	DNS, Read   time.Duration
	HeaderBytes int64
	Interim     int
	Addresses   int
	Fallback    time.Duration
}

func (l Limits) withDefaults() Limits {
	orDefault(&l.DNS, DefaultDNS)
	orDefault(&l.Read, DefaultRead)
	orDefault(&l.HeaderBytes, DefaultHeaderBytes)
	orDefault(&l.Interim, DefaultInterim)
	orDefault(&l.Addresses, DefaultAddresses)
	orDefault(&l.Fallback, DefaultFallback)
	return l
}

func orDefault[T time.Duration | int | int64](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}
