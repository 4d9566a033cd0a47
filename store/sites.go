package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"agentaudit/audit/report"
)

// SiteOrder is the order of a list of sites.
type SiteOrder string

// The orders: by host, or the last change of the outcome first.
const (
	ByHost   SiteOrder = "host"
	ByChange SiteOrder = "changed"
)

// SiteFilter picks sites. Empty fields do not filter; what is given must all
// hold.
type SiteFilter struct {
	// Outcome is that of the last result.
	Outcome report.Outcome
	// Host is the beginning of a host, in lower case; it goes with ByHost.
	Host string
	// ChangedSince is a time since when the outcome must have changed; it goes
	// with ByChange.
	ChangedSince time.Time
	// Order is ByHost where it is "".
	Order SiteOrder
}

// SitePage is one page of sites.
type SitePage struct {
	Sites []Site
	// Next is the cursor of the following page, "" on the last.
	Next string
}

// Sites lists one page of at most limit sites with a result. cursor is "" for
// the first page and SitePage.Next for those that follow. Every filter has an
// index, so that a page costs the same wherever it is. The error is [ErrCursor].
func (s *Store) Sites(ctx context.Context, f SiteFilter, cursor string, limit int) (*SitePage, error) {
	var where []string
	var args []any
	arg := func(v any) string { args = append(args, v); return "$" + strconv.Itoa(len(args)) }
	if f.Outcome != "" {
		where = append(where, "outcome = "+arg(string(f.Outcome)))
	}
	var key []byte
	var at string
	if cursor != "" {
		a, k, ok := strings.Cut(cursor, ".")
		var err error
		if key, err = hex.DecodeString(a); err != nil || !ok || len(key) != 16 {
			return nil, ErrCursor
		}
		at = k
	}
	order := "host, key"
	if f.Order == ByChange {
		order = "since DESC, key DESC"
		if !f.ChangedSince.IsZero() {
			where = append(where, "since >= "+arg(f.ChangedSince.UnixMilli()))
		}
		if cursor != "" {
			since, err := strconv.ParseInt(at, 10, 64)
			if err != nil {
				return nil, ErrCursor
			}
			where = append(where, "(since, key) < ("+arg(since)+", "+arg(key)+")")
		}
	} else {
		if f.Host != "" {
			where = append(where, "host >= "+arg(f.Host), "host < "+arg(f.Host+"\U0010FFFF"))
		}
		if cursor != "" {
			where = append(where, "(host, key) > ("+arg(text(at))+", "+arg(key)+")")
		}
	}
	query := `SELECT key, target, host, outcome, reason, since, batch, run, checked_at, definite, definite_batch, definite_run, definite_at, results FROM sites`
	if len(where) > 0 {
		query += " WHERE " + strings.Join(where, " AND ")
	}
	type found struct {
		Site
		key   []byte
		since int64
	}
	list, err := collect(ctx, s.read, query+" ORDER BY "+order+" LIMIT "+arg(limit+1), args, func(r *sql.Rows, v *found) error {
		var batch, run, checked, defBatch, defRun, defAt int64
		err := r.Scan(&v.key, &v.Target, &v.Host, &v.Outcome, &v.Reason, &v.since, &batch, &run, &checked, &v.Definite, &defBatch, &defRun, &defAt, &v.Results)
		v.Since, v.CheckedAt, v.DefiniteAt, v.LastRun = instant(v.since), instant(checked), instant(defAt), runID(batch, run)
		if v.Definite != "" {
			v.DefiniteRun = runID(defBatch, defRun)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list sites: %w", err)
	}
	p := &SitePage{}
	for i, v := range list[:min(len(list), limit)] {
		p.Sites = append(p.Sites, v.Site)
		if i == limit-1 && len(list) > limit {
			at := v.Host
			if f.Order == ByChange {
				at = strconv.FormatInt(v.since, 10)
			}
			p.Next = hex.EncodeToString(v.key) + "." + at
		}
	}
	return p, nil
}
