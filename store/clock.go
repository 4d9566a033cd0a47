package store

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"time"
)

// serverClock tells the time of a database server: the leases of workers on
// many machines mean something only by one clock. Between two looks at it time
// passes as it does in this process, whatever the clock of its machine says.
type serverClock struct {
	log    *slog.Logger
	asking *regular

	mu   sync.Mutex
	at   time.Time // by this process, with a monotonic reading
	said time.Time // by the server then
	told bool      // that the two differ
}

const (
	// clockEvery is how often the server is asked.
	clockEvery = 30 * time.Second
	// clockSlow is how long an answer may take to say anything.
	clockSlow = time.Second
	// clockDiffers is how much the clocks may differ without a word in the log.
	clockDiffers = 10 * time.Second
)

// startClock asks a server for its time, and goes on asking until close.
func startClock(ctx context.Context, db *sql.DB, log *slog.Logger) (*serverClock, error) {
	c := &serverClock{log: log}
	// However long the first answer takes: without one there is no time at all.
	if err := c.ask(ctx, db, longPatience); err != nil {
		return nil, err
	}
	c.asking = regularly(clockEvery, func(ctx context.Context) {
		_ = c.ask(ctx, db, clockSlow) // else time passes as before
	})
	return c, nil
}

func (c *serverClock) close() { c.asking.close() }

// ask sets the clock, unless the answer took too long.
func (c *serverClock) ask(ctx context.Context, db *sql.DB, patience time.Duration) error {
	began := time.Now()
	var micros int64
	if err := db.QueryRowContext(ctx, `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`).Scan(&micros); err != nil {
		return err
	}
	took := time.Since(began)
	if took > patience {
		return nil
	}
	c.set(began.Add(took/2), time.UnixMicro(micros))
	return nil
}

func (c *serverClock) set(at, said time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.said = at, said
	ahead := at.Round(0).Sub(said) // by the clock on the wall
	differs := ahead.Abs() > clockDiffers
	if differs && !c.told {
		c.log.LogAttrs(context.Background(), slog.LevelWarn, "the clock of this machine differs from the database server's, which is used; set both with NTP",
			slog.Duration("ahead", ahead.Round(time.Second)))
	}
	c.told = differs
}

func (c *serverClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said.Add(time.Since(c.at))
}
