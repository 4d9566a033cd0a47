package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agentaudit/audit"
	"agentaudit/audit/format"
	"agentaudit/audit/report"
	"agentaudit/queue"
	"agentaudit/store"
	"agentaudit/worker"
	"agentaudit/worker/producer"
)

func runCommand(s streams) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "audit a list of sites on this machine",
		UsageText: "agentaudit run SOURCE...|--from URL [--out FILE] [--format FORMAT] [--fail-on failed|partial] [--baseline FILE]\n   agentaudit run --resume [BATCH]",
		Description: "SOURCE is a file (text, CSV, JSON, NDJSON, sitemap; gzipped or not), - for standard input, or a site.\n" +
			"Every accepted line gets one result, every other a reason. Batches and results are kept in the data\n" +
			"directory; what was stopped goes on with --resume. --from reads the listing API of a directory page by\n" +
			"page; how it pages, and where its sites stand, is found out and shown.\n\n" +
			"EXAMPLE\n   agentaudit run listings.csv --column homepage --out results.ndjson\n" +
			"   agentaudit run --from https://directory.example/api/listings\n" +
			"   agentaudit run listings.csv --webhook https://chat.example/hooks/audit --webhook-settle 48h\n" +
			"   agentaudit run sites.txt --format sarif --fail-on failed --baseline last.sarif > now.sarif",
		Flags: append(append([]cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "call the batch `NAME`"},
			&cli.IntFlag{Name: "concurrency", Usage: "audit `N` sites at the same time", Value: 64},
			&cli.BoolFlag{Name: "resume", Usage: "go on with the unfinished batch, or with the one named"},
			&cli.StringFlag{Name: "out", Usage: "write the results as they come to the new `FILE` (.ndjson, .csv or .json)"},
			&cli.StringFlag{Name: "fail-on", Usage: "exit with 1 if a site is `OUTCOME` (failed, partial) or worse; never does not", Value: "never"},
			&cli.StringFlag{Name: "format", Usage: "print all results as `FORMAT` (sarif, junit or markdown) instead of the summary"},
			baselineFlag(),
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "show no progress and no notes"},
			fromFlag(),
			writeBackFlag(),
		}, listFlags()...), slices.Concat(auditFlags(audit.DiscoverMissing), visitFlags(), webhookFlags(), messageFlags())...),
		Action: func(c *cli.Context) error {
			r, err := newRunner(c, s)
			if err != nil {
				return err
			}
			return r.run(c.Context)
		},
	}
}

// runner is one use of the run command.
type runner struct {
	// q is the queue and outTo the file of --out, from prepare on.
	q     *queue.Conn
	outTo *os.File
	s     streams
	pipeline
	list        producer.List
	resume      bool
	resumeBatch string
	name        string
	out         string
	failOn      string
	// format is the document to print in place of the summary, "" for that.
	format   string
	baseline *format.Baseline
	quiet    bool
	options  audit.Options
	messages
	// webhook is where the end of the batch is told, nil for nowhere.
	webhook *store.Webhook
	// later says that the file of --out is written when all is confirmed: of
	// what is audited again it must not have two rows.
	later bool
	// drops says that an interrupted intake is given up, not kept for --resume.
	drops bool
	// hints are the commands that the summary names.
	hints bool
}

func newRunner(c *cli.Context, s streams) (*runner, error) {
	r := &runner{
		s: s, name: c.String("name"), out: c.String("out"), failOn: c.String("fail-on"),
		quiet: c.Bool("quiet"), resume: c.Bool("resume"), hints: true,
	}
	var err error
	if r.pipeline, err = newPipeline(c, s, worker.RetryRun); err != nil {
		return nil, err
	}
	switch r.failOn {
	case "never", "failed", "partial":
	default:
		return nil, usagef("--fail-on %q: use failed, partial or never", clean(r.failOn))
	}
	if err := r.document(c); err != nil {
		return nil, err
	}
	if r.messages, err = readMessages(c); err != nil {
		return nil, err
	}
	if r.out != "" {
		if _, err := outFormat(r.out); err != nil {
			return nil, err
		}
	}
	if r.resume {
		if c.NArg() > 1 {
			return nil, usagef("--resume goes on with one batch; %d were named", c.NArg())
		}
		for _, f := range append(auditFlags(""), webhookFlags()...) {
			if name := f.Names()[0]; c.IsSet(name) {
				return nil, usagef("--%s is kept with the batch and cannot be changed by --resume; leave it out", name)
			}
		}
		r.resumeBatch = c.Args().First()
		return r, nil
	}
	if r.options, err = auditOptions(c, audit.DiscoverMissing); err != nil {
		return nil, err
	}
	if r.list, err = newListOrFrom(c); err != nil {
		return nil, err
	}
	if err = r.setWebhook(c, confirmSoon); err == nil && r.webhook != nil && r.webhook.URL != "" && r.hookSecret == nil {
		err = usagef("--webhook needs a secret to sign its messages: set %s, or give --webhook-secret-file", hookSecretEnv)
	}
	return r, err
}

// document reads the flags of documents for CI systems.
func (r *runner) document(c *cli.Context) (err error) {
	if r.format = c.String("format"); r.format != "" && !isDocument(r.format) {
		return usagef("--format %q: use sarif, junit or markdown; --out FILE writes rows", clean(r.format))
	}
	if r.baseline, err = readBaseline(c); err == nil && r.baseline != nil && r.format == "" && r.failOn == "never" {
		return usagef("--baseline does nothing by itself; give --fail-on or --format as well")
	}
	return err
}

// objection is what --fail-on objects to.
func (r *runner) objection() format.Objection {
	if r.failOn == "partial" {
		return format.ObjectPartial
	}
	return format.ObjectFailed
}

// outFormat is the format that the ending of a file asks for.
func outFormat(path string) (string, error) {
	switch format := strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), "."); format {
	case formatCSV, formatNDJSON, formatJSON:
		return format, nil
	}
	return "", usagef("--out %s: the name must end in .ndjson, .csv or .json", clean(path))
}

func (r *runner) note(format string, args ...any) {
	if !r.quiet {
		fmt.Fprintf(r.s.Err, format+"\n", args...)
	}
}

func (r *runner) run(ctx context.Context) error {
	st, err := openStore(ctx, r.cfg, store.Own)
	if err != nil {
		return err
	}
	defer st.Close()
	// What can go wrong with the flags goes wrong before there is a batch.
	if err := r.prepare(ctx); err != nil {
		return err
	}
	defer r.release()
	b, err := r.batch(ctx, st)
	if err != nil {
		return err
	}
	return r.finish(ctx, st, b)
}

// finish works on a batch as far as it is open, and sums it up.
func (r *runner) finish(ctx context.Context, st *store.Store, b *store.Batch) error {
	confirms, err := r.confirms(ctx, st, b)
	if err != nil {
		return err
	}
	r.later = confirms
	if b.State.Open() {
		if err := r.work(ctx, st, b); err != nil {
			return err
		}
		if b, err = st.Batch(ctx, b.ID); err != nil {
			return undone(err)
		}
	}
	if confirms {
		if b, err = r.confirm(ctx, st, b); err != nil {
			return err
		}
		r.later = false
		out, err := r.openOut(ctx, st, b)
		if err == nil {
			err = out.close()
		}
		if err != nil {
			return r.notWritten(err)
		}
	}
	if r.format != "" {
		err = printDocument(ctx, r.s.Out, st, b, r.format, format.Options{Objection: r.objection(), Baseline: r.baseline})
	} else {
		err = printSummary(ctx, r.s.Out, r.cfg, st, b, r.hints)
	}
	if err != nil {
		return err
	}
	if err := r.tell(ctx, st, b); err != nil {
		return err
	}
	return r.exit(ctx, st, b)
}

// batch makes or finds the batch to work on, with its list read.
func (r *runner) batch(ctx context.Context, st *store.Store) (*store.Batch, error) {
	if r.resume {
		return r.resumed(ctx, st)
	}
	if old, err := st.LatestUnfinished(ctx); err == nil {
		r.note("batch %s (%s) is unfinished; %s goes on with it", old.ID, clean(batchName(old)), r.cfg.hint("run", "--resume", string(old.ID)))
	} else if !errors.Is(err, store.ErrNotFound) {
		return nil, undone(err)
	}
	b, err := r.create(ctx, st)
	if err != nil {
		return nil, err
	}
	return r.intake(ctx, st, b)
}

// create makes the batch, without its list.
func (r *runner) create(ctx context.Context, st *store.Store) (*store.Batch, error) {
	options, err := json.Marshal(producer.Options{List: r.list, Options: r.options})
	if err != nil {
		return nil, undone(err)
	}
	b, err := st.CreateBatch(ctx, store.NewBatch{Name: r.name, Sources: r.list.SourceNames(), Options: options, Webhook: r.webhook})
	if err != nil {
		return nil, undone(err)
	}
	return b, nil
}

// intake reads the list. A list that cannot be read to its end is not audited
// by halves: the batch is dropped, and the error says where the trouble is.
func (r *runner) intake(ctx context.Context, st *store.Store, b *store.Batch) (*store.Batch, error) {
	// A list of a million lines must not need much memory; here the collector
	// of garbage is worth its time.
	defer debug.SetGCPercent(debug.SetGCPercent(65))
	started := time.Now()
	if r.list.From != "" {
		if err := r.listing(ctx, st, b, false); err != nil {
			return nil, err
		}
		return r.seal(ctx, st, b, started)
	}
	last := started
	_, err := producer.Fill(ctx, st, b.ID, r.list.Inputs(r.s.In), r.list.Read, func(c producer.Counts) {
		if time.Since(last) > time.Second {
			last = time.Now()
			r.note("%d lines read", c.Lines)
		}
	})
	if err != nil {
		if ctx.Err() != nil && r.list.Rereadable() && !r.drops {
			r.note("the list was not read to its end; %s reads it again", r.cfg.hint("run", "--resume", string(b.ID)))
			return nil, err
		}
		if dropErr := st.AbandonIntake(context.WithoutCancel(ctx), b.ID, "its list could not be read"); dropErr != nil {
			return nil, undone(errors.Join(err, dropErr))
		}
		if bad, ok := errors.AsType[*producer.ListError](err); ok {
			// The lines before the trouble are good, but a list must not be
			// audited by halves unnoticed.
			return nil, usagef("%v; nothing of the list was audited, correct it and give it again", bad)
		}
		return nil, err
	}
	return r.seal(ctx, st, b, started)
}

// seal ends the intake and says what was taken in.
func (r *runner) seal(ctx context.Context, st *store.Store, b *store.Batch, started time.Time) (*store.Batch, error) {
	sealed, err := st.SealBatch(ctx, b.ID)
	if err != nil {
		return nil, undone(err)
	}
	if sealed.Entries == 0 {
		return nil, r.nothingToAudit(ctx, st, sealed)
	}
	r.note("batch %s: %s, %d repeated, %d rejected (%s)", sealed.ID, plural(sealed.Entries, "entry", "entries"), sealed.Duplicates, sealed.Rejected, duration(time.Since(started)))
	if r.list.From != "" {
		return sealed, r.changes(ctx, st, sealed)
	}
	return sealed, nil
}

// nothingToAudit says why a list without a site is bad input: nobody gives one
// on purpose.
func (r *runner) nothingToAudit(ctx context.Context, st *store.Store, b *store.Batch) error {
	if b.Rejected == 0 {
		return usagef("the list is empty: there is no site in it to audit")
	}
	first, err := st.RejectedLines(ctx, b.ID, 0, 1)
	if err != nil {
		return undone(err)
	}
	if b.Rejected == 1 {
		return usagef("the list has no site to audit: its one line was rejected: %s", clean(first[0].Reason))
	}
	return usagef("the list has no site to audit: all its %d lines were rejected, the first because of this: %s (%s shows all)", b.Rejected, clean(first[0].Reason), r.cfg.hint("results", string(b.ID), "--rejected"))
}

// takeOver makes sure that nobody else reads the list of a batch.
func (r *runner) takeOver(ctx context.Context, st *store.Store, b *store.Batch) error {
	if st.Sole() {
		return nil
	}
	err := producer.TakeOver(ctx, st, b.ID, func(d time.Duration) {
		r.note("waiting %s to be sure that nobody reads the list of batch %s any more", duration(d), b.ID)
	})
	if errors.Is(err, producer.ErrRead) {
		return usagef("another process is reading the list of batch %s: there is nothing to go on with; the batch is audited when its list is complete", b.ID)
	}
	return err
}

// resumed finds the batch to go on with.
func (r *runner) resumed(ctx context.Context, st *store.Store) (*store.Batch, error) {
	var b *store.Batch
	var err error
	if r.resumeBatch != "" {
		b, err = findBatch(ctx, r.cfg, st, r.resumeBatch)
	} else if b, err = st.LatestUnfinished(ctx); errors.Is(err, store.ErrNotFound) {
		return nil, usagef("there is no unfinished batch in %s", r.cfg.placeName())
	}
	if err != nil {
		return nil, err
	}
	switch b.State {
	case store.StateIntake:
		options, err := producer.OptionsOf(b)
		if err != nil {
			return nil, undone(err)
		}
		r.list = options.List
		if r.list.From == "" && !r.list.Rereadable() {
			return nil, usagef("batch %s was stopped while its list came in as a stream, which cannot be read again; drop it with %s and run the list anew", b.ID, r.cfg.hint("cancel", string(b.ID)))
		}
		if err := r.takeOver(ctx, st, b); err != nil {
			return nil, err
		}
		if r.list.From != "" {
			started := time.Now()
			if err := r.listing(ctx, st, b, true); err != nil {
				return nil, err
			}
			return r.seal(ctx, st, b, started)
		}
		if err := st.DiscardIntake(ctx, b.ID); err != nil {
			return nil, undone(err)
		}
		r.note("batch %s was stopped while its list was read; reading it again", b.ID)
		return r.intake(ctx, st, b)
	case store.StatePaused:
		if err := st.ResumeBatch(ctx, b.ID); err != nil {
			return nil, undone(err)
		}
		return st.Batch(ctx, b.ID)
	case store.StateFinished, store.StateCancelled:
		r.note("batch %s is %s; nothing is left to do", b.ID, b.State)
	default:
		r.note("going on with batch %s (%s): %d of %s done", b.ID, clean(batchName(b)), b.Done(), plural(b.Entries, "entry", "entries"))
	}
	return b, nil
}

// exit turns the counts of a batch into the exit code that --fail-on asks for.
func (r *runner) exit(ctx context.Context, st *store.Store, b *store.Batch) error {
	if r.failOn == "never" {
		return nil
	}
	n := func(o report.Outcome) int64 { return b.Outcomes[o].Entries }
	bad := []report.Outcome{report.OutcomeFailed}
	if r.failOn == "partial" {
		bad = append(bad, report.OutcomePartial)
	}
	objected := slices.ContainsFunc(bad, func(o report.Outcome) bool { return n(o) > 0 })
	if objected && r.baseline != nil {
		var err error
		if objected, err = hasNew(ctx, st, b, r.baseline, r.objection(), bad...); err != nil {
			return undone(err)
		}
	}
	switch {
	case objected:
		return objects()
	case n(report.OutcomeUnchecked)+n(store.Cancelled) > 0:
		return &exitError{code: exitUndone}
	}
	return nil
}
