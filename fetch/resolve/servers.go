package resolve

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// recheck is how often a resolv.conf is looked at for changes: a laptop that
// changes networks, a container whose resolver moves.
const recheck = 5 * time.Second

// maxServers is what resolv.conf allows (MAXNS in resolv.h).
const maxServers = 3

// serverList is the list of recursive servers, fixed or from a file.
type serverList struct {
	fixed []string
	path  string

	mu      sync.Mutex
	checked time.Time
	mtime   time.Time
	servers []string
}

// get returns the servers as IP:port, nil if there is no file to name them.
func (l *serverList) get() ([]string, error) {
	if len(l.fixed) > 0 {
		return l.fixed, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); !l.checked.IsZero() && now.Sub(l.checked) < recheck {
		return l.servers, nil
	}
	info, err := os.Stat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.servers, l.checked = nil, time.Now()
		return nil, nil
	case err != nil:
		return nil, err
	}
	if !info.ModTime().Equal(l.mtime) || l.servers == nil {
		conf, err := dns.ClientConfigFromFile(l.path)
		if err != nil {
			return nil, err
		}
		if len(conf.Servers) == 0 {
			return nil, fmt.Errorf("%s: %w", l.path, errNoServers)
		}
		servers := make([]string, 0, maxServers)
		for _, s := range conf.Servers[:min(len(conf.Servers), maxServers)] {
			servers = append(servers, net.JoinHostPort(s, conf.Port))
		}
		l.servers, l.mtime = servers, info.ModTime()
	}
	l.checked = time.Now()
	return l.servers, nil
}
