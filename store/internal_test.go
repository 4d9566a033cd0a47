package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"agentaudit/audit/report"
)

func openTest(t testing.TB, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestMigrations(t *testing.T) {
	s := openTest(t, Options{})
	ctx := t.Context()
	known, err := migrations(migrationFiles, migrationFolder)
	if err != nil {
		t.Fatal(err)
	}
	next := append(known[:len(known):len(known)], migration{int64(len(known) + 1), "x_more", "CREATE TABLE more (x BIGINT);", "sum"})
	if err := s.migrateTo(ctx, next); err != nil {
		t.Fatal(err)
	}
	if err := s.migrateTo(ctx, next); err != nil {
		t.Fatalf("a second time: %v", err)
	}
	if _, err := s.write.ExecContext(ctx, `INSERT INTO more VALUES (1)`); err != nil {
		t.Fatal(err)
	}
	// This program does not know the step.
	if err := s.checkSchema(ctx); !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), "newer") {
		t.Fatalf("newer database: %v", err)
	}
	if err := s.migrate(ctx); !errors.Is(err, ErrSchema) {
		t.Fatalf("migration of a newer database: %v", err)
	}
	changed := append([]migration(nil), next...)
	changed[0].checksum = "other"
	if err := s.migrateTo(ctx, changed); !errors.Is(err, ErrSchema) {
		t.Fatalf("a released step was changed: %v", err)
	}
	// A step that fails leaves nothing behind.
	bad := append(next[:len(next):len(next)], migration{int64(len(next) + 1), "bad", "CREATE TABLE half (x BIGINT); SELECT nonsense;", "sum"})
	if err := s.migrateTo(ctx, bad); err == nil || !strings.Contains(err.Error(), "bad") {
		t.Fatalf("a bad step: %v", err)
	}
	var n int
	if err := s.write.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE name = 'half'`).Scan(&n); err != nil || n != 0 {
		t.Fatalf("half a migration is left: %d, %v", n, err)
	}
}

func TestMigrationFilesAreNumbered(t *testing.T) {
	fsys := fstest.MapFS{"m/0001_a.sql": {Data: []byte("x")}, "m/0003_b.sql": {}}
	if _, err := migrations(fsys, "m"); err == nil {
		t.Fatal("a gap in the numbers was accepted")
	}
}

func TestSchemaOfEachDatabase(t *testing.T) {
	const text = `-- A table; with TEXT.
CREATE TABLE a (
  n    BIGINT NOT NULL,
  name TEXT   NOT NULL, -- what people call it
  PRIMARY KEY (n)
) WITHOUT ROWID;
-- only sqlite
CREATE INDEX a_name ON a (name) WHERE n > 0;
-- only postgres
CREATE INDEX a_name ON a (name);
-- both
CREATE INDEX a_n ON a (n);
`
	if got := sqliteDialect.schema(text); strings.Contains(got, "postgres") || !strings.Contains(got, "WITHOUT ROWID") ||
		!strings.Contains(got, "n > 0") || strings.Contains(got, "(name);") || !strings.Contains(got, "a_n ") {
		t.Errorf("SQLite gets\n%s", got)
	}
	if got := postgresDialect.schema(text); strings.Contains(got, "ROWID") || !strings.Contains(got, `name TEXT COLLATE "C"   NOT NULL`) ||
		strings.Contains(got, "n > 0") || !strings.Contains(got, "(name);") || !strings.Contains(got, "a_n ") {
		t.Errorf("PostgreSQL gets\n%s", got)
	}
}

// A column of another type than these is not the same in both databases.
func TestMigrationsUseCommonTypes(t *testing.T) {
	all, err := migrations(migrationFiles, migrationFolder)
	if err != nil {
		t.Fatal(err)
	}
	other := regexp.MustCompile(`(?i)\b(INTEGER|INT|BLOB|REAL|VARCHAR|SERIAL|AUTOINCREMENT|DATETIME|TIMESTAMP|JSONB?)\b`)
	for _, m := range all {
		for _, d := range []*dialect{sqliteDialect, postgresDialect} {
			if found := other.FindString(comment.ReplaceAllString(d.schema(m.text), "")); found != "" {
				t.Errorf("%s has a %s", m.name, found)
			}
		}
	}
}

// One write that fails must not take the others of its transaction with it.
func TestGroupIsolation(t *testing.T) {
	s := openTest(t, Options{GroupEvery: time.Minute}) // all in one group, if the first does not run alone
	ctx := t.Context()
	insert := func(n int) func(*groupTx) error {
		return func(g *groupTx) error {
			return g.send(`INSERT INTO rejected (batch, n, source, line, input, reason) VALUES (1, $1, 0, 0, '', '')`, nil, n)
		}
	}
	group := []*groupOp{
		{then: insert(1)}, {then: insert(2)}, {then: insert(1)}, // the third breaks the key
		{then: func(g *groupTx) error { g.count(7, "k", "n", "", 1, 1); return nil }},
		{then: func(*groupTx) error { return ErrStale }},
	}
	for _, op := range group {
		op.done = make(chan struct{})
	}
	s.group.commit(group)
	for i, op := range group {
		<-op.done
		if bad := op.err != nil; bad != (i == 2 || i == 4) {
			t.Errorf("write %d: %v", i, op.err)
		}
	}
	if !errors.Is(group[4].err, ErrStale) {
		t.Errorf("an answer was lost: %v", group[4].err)
	}
	var rows, counted int
	if err := s.read.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM rejected), (SELECT runs FROM counts WHERE batch = 7)`).Scan(&rows, &counted); err != nil {
		t.Fatal(err)
	}
	if rows != 2 || counted != 1 {
		t.Fatalf("%d rows, counted %d times", rows, counted)
	}
}

func TestFullDisk(t *testing.T) {
	s := openTest(t, Options{})
	ctx := t.Context()
	if _, err := s.write.ExecContext(ctx, `PRAGMA max_page_count = 60`); err != nil {
		t.Fatal(err)
	}
	b, err := s.CreateBatch(ctx, NewBatch{Sources: []string{"l"}})
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]Line, 5000)
	for i := range lines {
		lines[i] = Line{Number: int64(i), Target: fmt.Sprintf("https://%d.example/agentic.json", i)}
	}
	_, err = s.AddLines(ctx, b.ID, lines)
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "free some space") {
		t.Fatalf("on a full disk: %v", err)
	}
	if b, err = s.Batch(ctx, b.ID); err != nil || b.Entries != 0 {
		t.Fatalf("half a call is in the batch: %+v, %v", b, err)
	}
}

func TestCodec(t *testing.T) {
	c, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	parts := [][]byte{[]byte(`{"a":1}`), nil, bytes.Repeat([]byte("x"), 100_000), []byte("é")}
	enc, body := c.pack(parts...)
	got, err := c.unpack(enc, body, 4, 5)
	if err != nil || !reflect.DeepEqual(got, append(parts, nil)) { // as older programs wrote them
		t.Fatalf("%.100q, %v", got, err)
	}
	for _, n := range []int{0, 3, 5} {
		if _, err := c.unpack(enc, body, n, n); err == nil {
			t.Errorf("4 parts were taken for %d", n)
		}
	}
	if _, err := c.unpack(99, body, 4, 5); !errors.Is(err, ErrSchema) {
		t.Errorf("unknown encoding: %v", err)
	}
	if _, err := c.unpack(enc, body[:len(body)-3], 4, 5); err == nil {
		t.Error("a cut body was accepted")
	}
	_, bomb := c.pack(make([]byte, maxDocuments+1))
	if _, err := c.unpack(encZstd2, bomb, 1, 1); err == nil {
		t.Error("a body beyond the bound was unpacked")
	}
}

// A released dictionary must stay as it is, or old reports are lost.
func TestDictionary(t *testing.T) {
	for i, d := range []struct {
		text []byte
		sum  string
	}{{dictionary1, "1a5b8004c2e1300e7bd3e687f12294fc"}, {dictionary2, "1219b6537249ab475118c3c2670270b0"}} {
		if got := fmt.Sprintf("%x", hashKey(string(d.text))); got != d.sum {
			t.Fatalf("dictionary %d has changed: %s", i+1, got)
		}
	}
	c, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	if _, body := c.pack(dictionary2); len(body) > len(dictionary2)/50 {
		t.Fatalf("the dictionary is not used: %d bytes of %d", len(body), len(dictionary2))
	}
	// What was packed with the first one is still read.
	first, err := zstd.NewWriter(nil, zstd.WithEncoderDictRaw(encZstd1, dictionary1))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	old := first.EncodeAll(append([]byte{2}, "{}\x00\x00\x02[]"...), nil)
	if parts, err := c.unpack(encZstd1, old, 4, 5); err != nil || string(parts[0]) != "{}" || string(parts[3]) != "[]" || parts[4] != nil {
		t.Fatalf("%q, %v", parts, err)
	}
}

// BenchmarkPack is what the documents of one result cost.
func BenchmarkPack(b *testing.B) {
	c, err := newCodec()
	if err != nil {
		b.Fatal(err)
	}
	defer c.close()
	doc := bytes.ReplaceAll(dictionary2[:20_000], []byte("harbour-ferries"), []byte("lantern-library"))
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		c.pack(doc)
	}
}

func FuzzUnpack(f *testing.F) {
	c, err := newCodec()
	if err != nil {
		f.Fatal(err)
	}
	_, body := c.pack([]byte("{}"), nil, nil, []byte("[]"))
	f.Add(int64(encZstd2), body)
	f.Add(int64(encPlain), []byte{1, 'a', 0, 0, 0})
	f.Add(int64(encPlain), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, enc int64, body []byte) {
		parts, err := c.unpack(enc, body, 4, 5)
		if err != nil {
			return
		}
		_, again := c.pack(parts...)
		back, err := c.unpack(encZstd2, again, 4, 5)
		if err != nil || !reflect.DeepEqual(back, parts) {
			t.Fatalf("%q became %q, %v", parts, back, err)
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add("MS4wLg")
	f.Add(position{entry: 7, kind: 2, word: "a.b"}.cursor())
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parseCursor(s)
		if err != nil || s == "" {
			return
		}
		if again, err := parseCursor(p.cursor()); err != nil || again != p {
			t.Fatalf("%q: %+v, %+v, %v", s, p, again, err)
		}
	})
}

func FuzzIDs(f *testing.F) {
	f.Add("1m8p570g0-1")
	f.Add("zzzzzzzzz-9223372036854775807")
	f.Fuzz(func(t *testing.T, s string) {
		b, n, err := RunID(s).numbers()
		if err == nil && string(runID(b, n)) != s {
			t.Fatalf("%q has two spellings: %s", s, runID(b, n))
		}
	})
}

func TestSketch(t *testing.T) {
	s := newSketch()
	for i := range 1000 {
		if got := s.add("big.example"); got < int64(i) {
			t.Fatalf("after %d: %d, never too little", i, got)
		}
	}
	over := 0
	for i := range 10_000 {
		if s.add(fmt.Sprint(i, ".example")) > 0 {
			over++
		}
	}
	if over > 10 {
		t.Fatalf("%d of 10,000 new words were taken for old ones", over)
	}
}

// Queries over a million rows must use their indexes; a plan that scans or
// sorts is seen here before it is felt.
func TestPlans(t *testing.T) {
	s := openTest(t, Options{})
	b := &Batch{ID: batchID(1_790_000_000_000)}
	for _, f := range []Filter{
		{}, {Outcome: report.OutcomeFailed}, {Reason: report.ReasonBlocked}, {Check: "json"}, {Check: "resource:https://a.example/x"},
		{Host: "a.example"}, {Label: "l"}, {ID: "i"}, {Tag: "t"}, {Text: "a"}, {Host: "h", Tag: "t", Check: "json", Outcome: report.OutcomeFailed},
	} {
		f.Batch = b.ID
		v := &view{batch: 1_790_000_000_000, f: f, facets: facetsOf(f), byText: f.Text != ""}
		q := v.query(position{}, &position{entry: 9, word: "z"}, true)
		plan := explainPlan(t, s.read, `SELECT x.entry FROM `+q.from+` WHERE `+strings.Join(q.where, " AND ")+` ORDER BY `+q.order+` LIMIT 50`, q.args...)
		if strings.Contains(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%+v:\n%s", f, plan)
		}
		// One index finds the candidates, and no others are looked at.
		if driver := strings.SplitN(plan, "\n", 2)[0]; len(v.facets) > 0 && strings.Contains(driver, "w USING PRIMARY KEY (batch=?)") || strings.Contains(driver, "(batch=? AND entry") && len(v.facets) > 0 {
			t.Errorf("%+v is driven by %s", f, driver)
		}
	}
	for _, q := range []string{sqlEntries, sqlClaimRead, sqlDone, sqlSitesRead + "($1, $2) ORDER BY key", sqlSiteHistory, sqlQueued, sqlWaiting} {
		n := strings.Count(q, "$")
		args := make([]any, n)
		for i := range args {
			args[i] = 1
		}
		plan := explainPlan(t, s.read, q, args...)
		if strings.Contains(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s:\n%s", q, plan)
		}
	}
	// Each of these runs once for every site: to read all entries of the batch
	// there makes a long list quadratic, and no scan shows in the plan.
	q := (&view{batch: 1_790_000_000_000, run: 1}).query(position{}, nil, false)
	for _, plan := range []string{
		explainPlan(t, s.read, sqlEntries, 1, 1),
		explainPlan(t, s.read, `SELECT x.entry FROM `+q.from+` WHERE `+strings.Join(q.where, " AND ")+` ORDER BY `+q.order, q.args...),
	} {
		if !strings.Contains(plan, "COVERING INDEX entries_dup (batch=? AND run=?") {
			t.Errorf("the entries of a run are looked for so:\n%s", plan)
		}
	}
}

func explainPlan(t *testing.T, db *sql.DB, query string, args ...any) string {
	t.Helper()
	lines, err := collect(context.Background(), db, `EXPLAIN QUERY PLAN `+query, args, func(r *sql.Rows, line *string) error {
		var a, b, c int
		return r.Scan(&a, &b, &c, line)
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return strings.Join(lines, "\n")
}

func TestHotListsEveryStatement(t *testing.T) {
	s := openTest(t, Options{})
	for _, q := range hot {
		if s.group.stmts[q] == nil {
			t.Errorf("not prepared: %s", q)
		}
	}
}

func TestGroupsFormUnderLoad(t *testing.T) {
	s := openTest(t, Options{})
	s.group.held.Store(100)
	var mu sync.Mutex
	seen := map[*sql.Tx]int{}
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			err := s.group.do(t.Context(), &groupOp{then: func(g *groupTx) error {
				mu.Lock()
				defer mu.Unlock()
				seen[g.tx]++
				return nil
			}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(seen) > 50 {
		t.Fatalf("100 writes at once took %d transactions", len(seen))
	}
}

// The more claims are open the longer a group is waited for.
func TestGroupEvery(t *testing.T) {
	g := &grouper{s: &Store{o: Options{GroupEvery: 64 * time.Millisecond}}}
	for held, want := range map[int64]time.Duration{0: 0, 7: 0, 8: 8 * time.Millisecond, 32: 32 * time.Millisecond, 64: 64 * time.Millisecond, 500: 64 * time.Millisecond} {
		g.held.Store(held)
		if got := g.every(); got != want {
			t.Errorf("%d open claims: %v, want %v", held, got, want)
		}
	}
}

// While a process has a list open it says so, however slowly the lines come.
func TestSignsOfLifeOfReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openTest(t, Options{})
		defer s.Close()
		b, err := s.CreateBatch(t.Context(), NewBatch{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if silent, _, err := s.TendIntakes(t.Context()); len(silent) != 0 || err != nil {
			t.Errorf("silent %v, %v", silent, err)
		}
		batch, err := b.ID.number()
		if err != nil {
			t.Fatal(err)
		}
		s.intakes.drop(batch)
		time.Sleep(readerSilent + ReaderBeat)
		if silent, _, err := s.TendIntakes(t.Context()); len(silent) != 1 || err != nil {
			t.Errorf("silent %v, %v", silent, err)
		}
	})
}

// A list that another process ended or began anew is not said to be read, and
// neither is one that this process gave up while the database was away.
func TestNoSignsOfLifeForOthers(t *testing.T) {
	s := openTest(t, Options{})
	ctx := t.Context()
	var ids []int64
	for range 3 {
		b, err := s.CreateBatch(ctx, NewBatch{})
		if err != nil {
			t.Fatal(err)
		}
		id, err := b.ID.number()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	for _, q := range []string{`UPDATE batches SET state = 'cancelled' WHERE id = $1`, `UPDATE batches SET reader = reader + 1 WHERE id = $1`} {
		if _, err := s.write.ExecContext(ctx, q, ids[0]); err != nil {
			t.Fatal(err)
		}
		ids = ids[1:]
	}
	if err := s.beatIntakes(ctx); err != nil {
		t.Fatal(err)
	}
	if left := s.intakes.all(); len(left) != 1 || left[ids[0]] == nil {
		t.Errorf("%d lists are said to be read", len(left))
	}
	away, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.AbandonIntake(away, batchID(ids[0]), ""); err == nil {
		t.Error("given up without a database")
	}
	if left := s.intakes.all(); len(left) != 0 {
		t.Errorf("%d lists are said to be read", len(left))
	}
}

// A program that does not know signs of life writes none; its lists are not
// given up within the minute.
func TestListsOfOlderPrograms(t *testing.T) {
	s := openTest(t, Options{})
	ctx := t.Context()
	if _, err := s.CreateBatch(ctx, NewBatch{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.write.ExecContext(ctx, `UPDATE batches SET read_at = 0`); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if silent, cancelled, err := s.TendIntakes(ctx); err != nil || len(silent)+len(cancelled) > 0 {
			t.Errorf("%v, %v, %v", silent, cancelled, err)
		}
	}
}
