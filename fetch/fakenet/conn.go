package fakenet

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

// pipeBuffer is what one direction holds before a writer waits.
const pipeBuffer = 64 << 10

// pipe makes a connection inside the process: like net.Pipe, but buffered (TLS
// deadlocks without), with half-close and reset as TCP has them.
func pipe(addr netip.AddrPort) (client, server net.Conn) {
	up, down := newHalf(), newHalf()
	remote := net.TCPAddrFromAddrPort(addr)
	local := &net.TCPAddr{IP: net.IPv4(20, 255, 255, 254), Port: 40000}
	return &pipeConn{in: down, out: up, local: local, remote: remote},
		&pipeConn{in: up, out: down, local: remote, remote: local}
}

// half is one direction of a pipe.
type half struct {
	mu      sync.Mutex
	changed *sync.Cond
	data    []byte
	// eof: the writer has closed; err: both sides see this instead of data.
	eof bool
	err error
	// gone: the reader has closed.
	gone                        bool
	readDeadline, writeDeadline deadline
}

func newHalf() *half {
	h := &half{}
	h.changed = sync.NewCond(&h.mu)
	return h
}

// deadline wakes waiters when it passes.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (h *half) setDeadline(d *deadline, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d.at = at
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if wait := time.Until(at); !at.IsZero() && wait > 0 {
		d.timer = time.AfterFunc(wait, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.changed.Broadcast()
		})
	}
	h.changed.Broadcast()
}

func (h *half) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.gone:
			return 0, net.ErrClosed
		case h.readDeadline.passed():
			return 0, os.ErrDeadlineExceeded
		case h.err != nil:
			return 0, h.err
		case len(h.data) > 0:
			n := copy(p, h.data)
			h.data = h.data[:copy(h.data, h.data[n:])]
			h.changed.Broadcast()
			return n, nil
		case h.eof:
			return 0, io.EOF
		case len(p) == 0:
			return 0, nil
		}
		h.changed.Wait()
	}
}

func (h *half) write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	written := 0
	for {
		switch {
		case h.eof:
			return written, net.ErrClosed
		case h.writeDeadline.passed():
			return written, os.ErrDeadlineExceeded
		case h.err != nil:
			return written, h.err
		case h.gone:
			return written, syscall.EPIPE
		case len(p) == 0:
			return written, nil
		}
		if room := pipeBuffer - len(h.data); room > 0 {
			n := min(room, len(p))
			h.data = append(h.data, p[:n]...)
			p, written = p[n:], written+n
			h.changed.Broadcast()
			continue
		}
		h.changed.Wait()
	}
}

func (h *half) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	h.changed.Broadcast()
}

func (h *half) stopTimers() {
	for _, d := range []*deadline{&h.readDeadline, &h.writeDeadline} {
		if d.timer != nil {
			d.timer.Stop()
		}
	}
}

// pipeConn is one end of a pipe.
type pipeConn struct {
	in, out       *half
	local, remote net.Addr
}

func (c *pipeConn) wrap(op string, n int, err error) (int, error) {
	if err == nil || err == io.EOF {
		return n, err
	}
	return n, &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// Read implements net.Conn.
func (c *pipeConn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return c.wrap("read", n, err)
}

// Write implements net.Conn.
func (c *pipeConn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return c.wrap("write", n, err)
}

// Close implements net.Conn.
func (c *pipeConn) Close() error {
	c.out.change(func() { c.out.eof = true; c.out.stopTimers() })
	c.in.change(func() { c.in.gone, c.in.data = true, nil; c.in.stopTimers() })
	return nil
}

// CloseWrite ends the direction from here to the other side.
func (c *pipeConn) CloseWrite() error {
	c.out.change(func() { c.out.eof = true })
	return nil
}

// Reset ends both directions as a TCP reset does.
func (c *pipeConn) Reset() {
	for _, h := range []*half{c.in, c.out} {
		h.change(func() { h.err, h.data = syscall.ECONNRESET, nil; h.stopTimers() })
	}
}

// LocalAddr implements net.Conn.
func (c *pipeConn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *pipeConn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *pipeConn) SetDeadline(t time.Time) error {
	c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *pipeConn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(&c.in.readDeadline, t)
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *pipeConn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(&c.out.writeDeadline, t)
	return nil
}

// underlying unwraps to the connection that can be reset and half-closed.
func underlying(c net.Conn) net.Conn {
	for {
		switch w := c.(type) {
		case *serverConn:
			c = w.Conn
		case interface{ NetConn() net.Conn }:
			c = w.NetConn()
		default:
			return c
		}
	}
}

func closeWrite(c net.Conn) {
	if w, ok := underlying(c).(interface{ CloseWrite() error }); ok {
		w.CloseWrite()
	}
}

// reset ends a connection as a crashing server does.
func reset(c net.Conn) {
	switch w := underlying(c).(type) {
	case *pipeConn:
		w.Reset()
	case *net.TCPConn:
		w.SetLinger(0)
	}
	c.Close()
}

// loopback makes pairs of real connections.
type loopback struct {
	mu sync.Mutex
	l  net.Listener
}

func newLoopback() *loopback {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic("fakenet: no listener on 127.0.0.1: " + err.Error())
	}
	return &loopback{l: l}
}

// pair connects to the own listener and accepts that very connection; others
// that find the port are shut out.
func (l *loopback) pair() (client, server net.Conn, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if client, err = net.Dial("tcp", l.l.Addr().String()); err != nil {
		return nil, nil, err
	}
	for {
		if server, err = l.l.Accept(); err != nil {
			client.Close()
			return nil, nil, err
		}
		if server.RemoteAddr().String() == client.LocalAddr().String() {
			return client, server, nil
		}
		server.Close()
	}
}

func (l *loopback) Close() { l.l.Close() }

var (
	errUnknownName = errors.New("fakenet: no such site")
	errGreeted     = errors.New("fakenet: greeted otherwise")
)
