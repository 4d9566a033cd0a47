package store

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// longPatience is patience with statements that take minutes, such as the end
	// of an intake of millions.
	longPatience = time.Hour
	// idleInTx is how long a transaction may stand still, for instance when its
	// process was frozen: it holds locks that others wait for.
	idleInTx = 20 * time.Second
	// connectPatience bounds the making of a connection.
	connectPatience = 5 * time.Second
)

// openPostgres opens the pools: one that only reads, one for the small writes
// of workers, and one for what takes minutes. serverTime makes the server's clock
// the store's.
func (s *Store) openPostgres(ctx context.Context, source string, serverTime bool) error {
	config, err := pgx.ParseConfig(source)
	if err != nil {
		return fmt.Errorf("the URL cannot be used: %w", err) // pgx shows no password
	}
	s.read = pool(config, 2*s.o.Patience, 8, func(p map[string]string) {
		p["default_transaction_read_only"] = "on"
		// Joins are made in the order in which they are written and row by row, as
		// with CROSS JOIN in SQLite: the queries of long lists know which table
		// leaves the fewest rows, from counters that the planner's statistics
		// cannot match. It would rather hash half a million words for one page.
		p["join_collapse_limit"] = "1"
		p["enable_hashjoin"], p["enable_mergejoin"] = "off", "off"
		// One word is behind half of a list and another behind nothing.
		p["plan_cache_mode"] = "force_custom_plan"
		// A page is read in milliseconds; more processes take longer to start.
		p["max_parallel_workers_per_gather"] = "0"
	})
	if serverTime {
		if s.clock, err = startClock(ctx, s.read, s.o.Log); err != nil {
			return err
		}
		s.o.Now = s.clock.now
	}
	if s.o.Access != ReadOnly {
		s.write = pool(config, s.o.Patience, 6, func(p map[string]string) {
			// Small writes find their rows by keys. Before the first ANALYZE of a new
			// table the planner would read it from end to end instead.
			p["enable_seqscan"], p["enable_hashjoin"], p["enable_mergejoin"] = "off", "off", "off"
		})
		s.long = pool(config, longPatience, 2, nil)
		if s.o.Access == Own {
			if err := s.migrate(ctx); err != nil {
				return err
			}
		}
	}
	return s.checkSchema(ctx)
}

// pool makes connections that are given up when the server is silent for longer
// than patience; a little less is what it may take for one statement.
func pool(base *pgx.ConnConfig, patience time.Duration, most int, more func(map[string]string)) *sql.DB {
	config := base.Copy()
	for name, value := range map[string]string{
		"application_name":                    "agentaudit",
		"statement_timeout":                   millis(patience - patience/10),
		"idle_in_transaction_session_timeout": millis(idleInTx),
		"client_encoding":                     "UTF8",
	} {
		if _, given := config.RuntimeParams[name]; !given {
			config.RuntimeParams[name] = value
		}
	}
	if more != nil {
		more(config.RuntimeParams)
	}
	if config.ConnectTimeout == 0 || config.ConnectTimeout > time.Minute {
		config.ConnectTimeout = connectPatience
	}
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &patientConn{Conn: c, patience: patience}, nil
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// patientConn gives up a server that says nothing for too long while somebody
// waits for it: one that is frozen, or behind a network that swallows all.
// Without it a statement would wait for ever.
type patientConn struct {
	net.Conn
	patience time.Duration

	mu       sync.Mutex
	deadline time.Time // set from outside, zero for none
}

// Read reads what the server says within the patience.
func (c *patientConn) Read(b []byte) (int, error) {
	c.mu.Lock()
	until := time.Now().Add(c.patience)
	if !c.deadline.IsZero() && c.deadline.Before(until) {
		until = c.deadline
	}
	err := c.Conn.SetReadDeadline(until)
	c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

// SetDeadline is for the driver, which ends a statement so when its context ends.
func (c *patientConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline is SetDeadline for reads alone.
func (c *patientConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return c.Conn.SetReadDeadline(t)
}

// shownURL is a URL without what may be secret in it: all but server and
// database.
func shownURL(source string) string {
	u, err := url.Parse(source)
	if err != nil {
		return "(unreadable URL)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
