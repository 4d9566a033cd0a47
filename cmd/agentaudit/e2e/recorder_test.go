//go:build linux

package e2e

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/bpf"
)

// contact is where the first packet of a conversation went: a TCP SYN, or any
// UDP packet that is no answer of the name server.
type contact struct {
	proto string // "tcp" or "udp", else the number of the protocol
	to    netip.AddrPort
}

func (c contact) String() string { return c.proto + " " + c.to.String() }

// recorder sees every packet that is sent in the namespace.
type recorder struct {
	fd   int
	done chan struct{}

	mu    sync.Mutex
	count map[contact]int
	heard *sync.Cond
}

const ethPAll = 0x0003 // all protocols, linux/if_ether.h

// packetFilter lets TCP packets with SYN and without ACK through, and all of
// UDP and of protocols that nobody here should speak; ICMP is the kernel's own.
// Offsets count from the IP header.
var packetFilter = []bpf.Instruction{
	bpf.LoadExtension{Num: bpf.ExtProto},
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0x0800, SkipTrue: 1},                // IPv4: to 3
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0x86dd, SkipTrue: 6, SkipFalse: 13}, // IPv6: to 9, else to 16
	bpf.LoadAbsolute{Off: 9, Size: 1},                                        // 3: protocol
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: 1, SkipTrue: 11},                    // ICMP: to 16
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 6, SkipTrue: 9},                  // not TCP: to 15
	bpf.LoadMemShift{Off: 0},                                                 // header length
	bpf.LoadIndirect{Off: 13, Size: 1},                                       // flags
	bpf.Jump{Skip: 4},                                                        // to 13
	bpf.LoadAbsolute{Off: 6, Size: 1},                                        // 9: next header
	bpf.JumpIf{Cond: bpf.JumpEqual, Val: 58, SkipTrue: 5},                    // ICMPv6: to 16
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 6, SkipTrue: 3},                  // not TCP: to 15
	bpf.LoadAbsolute{Off: 40 + 13, Size: 1},                                  // flags
	bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0x12},                           // 13: SYN and ACK
	bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0x02, SkipTrue: 1},               // to 16
	bpf.RetConstant{Val: 128},                                                // 15
	bpf.RetConstant{Val: 0},                                                  // 16
}

// dropAll lets nothing through.
var dropAll = []bpf.Instruction{bpf.RetConstant{Val: 0}}

// attach puts a packet filter on a socket.
func attach(fd int, program []bpf.Instruction) error {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return err
	}
	filter := make([]syscall.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = syscall.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	//lint:ignore SA1019 its successor in x/net serves only sockets of packages in x/net
	return syscall.AttachLsf(fd, filter)
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("packet recorder: %v", err)
	}
	r := &recorder{fd: fd, done: make(chan struct{}), count: map[contact]int{}}
	r.heard = sync.NewCond(&r.mu)
	// The filter comes before the binding, so that nothing else gets in.
	if err := attach(fd, packetFilter); err != nil {
		t.Fatalf("packet recorder: %v", err)
	}
	var protocol [2]byte
	binary.BigEndian.PutUint16(protocol[:], ethPAll)
	if err := syscall.Bind(fd, &syscall.SockaddrLinklayer{Protocol: binary.NativeEndian.Uint16(protocol[:])}); err != nil {
		t.Fatalf("packet recorder: %v", err)
	}
	// Far more than two thousand sites can fill before it is read.
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, 8<<20); err != nil {
		t.Fatalf("packet recorder: %v", err)
	}
	go r.loop()
	t.Cleanup(func() {
		// shutdown does not wake a packet socket; a last packet does.
		r.mu.Lock()
		r.fd = -1
		r.mu.Unlock()
		knock(t, farewell)
		<-r.done
	})
	return r
}

// farewell and marker are addresses that only the recorder's own packets go to.
var (
	farewell = netip.MustParseAddrPort("127.99.99.99:9")
	marker   = netip.MustParseAddrPort("127.99.99.98:9")
)

func knock(t *testing.T, to netip.AddrPort) {
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
	if err != nil {
		t.Errorf("packet recorder: %v", err)
		return
	}
	defer c.Close()
	c.Write([]byte("knock"))
}

func (r *recorder) loop() {
	defer close(r.done)
	fd := r.fd
	defer syscall.Close(fd)
	buf := make([]byte, 128)
	for {
		n, from, err := syscall.Recvfrom(fd, buf, 0)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return
		}
		// What is sent over the loopback device comes by a second time, as
		// received.
		if ll, ok := from.(*syscall.SockaddrLinklayer); !ok || ll.Pkttype != syscall.PACKET_OUTGOING {
			continue
		}
		c, ok := parsePacket(buf[:n])
		if !ok {
			continue
		}
		r.mu.Lock()
		r.count[c]++
		r.heard.Broadcast()
		closing := r.fd < 0
		r.mu.Unlock()
		if closing && c.to == farewell {
			return
		}
	}
}

// parsePacket finds out where a packet goes; ok is false for answers of the
// name server.
func parsePacket(b []byte) (c contact, ok bool) {
	if len(b) < 20 {
		return c, false
	}
	var proto byte
	var to netip.Addr
	var rest []byte
	if b[0]>>4 == 4 {
		proto, to, rest = b[9], netip.AddrFrom4([4]byte(b[16:20])), b[int(b[0]&15)*4:]
	} else {
		if len(b) < 40 {
			return c, false
		}
		proto, to, rest = b[6], netip.AddrFrom16([16]byte(b[24:40])), b[40:]
	}
	c = contact{fmt.Sprint(proto), netip.AddrPortFrom(to, 0)}
	if (proto == syscall.IPPROTO_TCP || proto == syscall.IPPROTO_UDP) && len(rest) >= 4 {
		c.to = netip.AddrPortFrom(to, binary.BigEndian.Uint16(rest[2:]))
		c.proto = "tcp"
		if proto == syscall.IPPROTO_UDP {
			c.proto = "udp"
			return c, binary.BigEndian.Uint16(rest) != dnsPort
		}
	}
	return c, true
}

// contacts are all that were made so far; what was sent before the call is
// among them.
func (r *recorder) contacts(t *testing.T) map[contact]int {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	mark := contact{"udp", marker}
	before := r.count[mark]
	r.mu.Unlock()
	knock(t, marker)
	r.mu.Lock()
	late := time.AfterFunc(10*time.Second, r.heard.Broadcast)
	defer late.Stop()
	for deadline := time.Now().Add(10 * time.Second); r.count[mark] == before; r.heard.Wait() {
		if time.Now().After(deadline) {
			t.Fatal("the packet recorder does not see its own packets")
		}
	}
	seen := maps.Clone(r.count)
	delete(seen, mark)
	return seen
}

// forget starts the counts anew.
func (r *recorder) forget(t *testing.T) {
	t.Helper()
	r.contacts(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.count)
}

func TestRecorderSeesWhatMustNotHappen(t *testing.T) {
	inside(t)
	r := newRecorder(t)
	for _, c := range []contact{
		{"tcp", netip.MustParseAddrPort("10.1.2.3:80")},
		{"tcp", netip.MustParseAddrPort("169.254.169.254:443")},
		{"tcp", netip.MustParseAddrPort("[fc00::7]:443")},
		{"tcp", netip.MustParseAddrPort("20.3.3.3:80")},
		{"tcp", netip.MustParseAddrPort("8.8.8.8:443")},
		{"udp", netip.MustParseAddrPort("8.8.8.8:53")},
		{"udp", netip.MustParseAddrPort("[2600::1]:443")},
	} {
		if c.proto == "tcp" {
			// Nobody is there, the kernel says so.
			if conn, err := net.Dial("tcp", c.to.String()); err == nil {
				conn.Close()
			}
		} else {
			knock(t, c.to)
		}
		if n := r.contacts(t)[c]; n != 1 {
			t.Errorf("%s was seen %d times, not once", c, n)
		}
	}
	r.forget(t)
	if seen := r.contacts(t); len(seen) != 0 {
		t.Errorf("nothing was sent, and the recorder saw %v", seen)
	}
}
