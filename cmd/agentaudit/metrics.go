package main

import (
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"agentaudit/audit/report"
	"agentaudit/queue"
	"agentaudit/store"
	"agentaudit/worker"
	"agentaudit/worker/schedule"
)

// metrics count what a process does, and read from store and queue what is to
// be done whenever somebody asks. No label has a value for each site. The nil
// *metrics counts nothing.
type metrics struct {
	registry *prometheus.Registry
	log      *slog.Logger
	finished *prometheus.CounterVec
	attempts *prometheus.CounterVec
	duration prometheus.Histogram
	firings  prometheus.Counter
	lateness prometheus.Histogram

	// What there is to be asked; worker and queue may be nil. They are set
	// before the first question.
	store  *store.Store
	queue  *queue.Conn
	worker *worker.Worker
	asking sync.Mutex
}

func newMetrics(log *slog.Logger) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(), log: log,
		finished: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "agentaudit_audits_finished_total", Help: "Runs that this process gave their final result, by outcome."}, []string{"outcome"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "agentaudit_attempts_total", Help: "Attempts of this process, by what came of them: final, or to be tried again."}, []string{"result"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "agentaudit_audit_duration_seconds", Help: "Time that one attempt took.",
			Buckets: []float64{.05, .1, .25, .5, 1, 2, 4, 8, 15, 30, 60, 120}}),
		firings: prometheus.NewCounter(prometheus.CounterOpts{Name: "agentaudit_schedule_firings_total", Help: "Firings of schedules by this process."}),
		lateness: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "agentaudit_schedule_firing_lateness_seconds", Help: "How much later than planned schedules fired.",
			Buckets: []float64{1, 5, 15, 60, 300, 3600, 86400}}),
	}
	// What has not happened yet is 0, not missing.
	for _, o := range report.Outcomes {
		m.finished.WithLabelValues(string(o))
	}
	m.attempts.WithLabelValues("final")
	m.attempts.WithLabelValues("retry")
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "agentaudit_build_info", Help: "The program; always 1.",
		ConstLabels: prometheus.Labels{"version": programVersion(), "goversion": runtime.Version()}})
	build.Set(1)
	m.registry.MustRegister(m.finished, m.attempts, m.duration, m.firings, m.lateness, build, m,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// handler answers /metrics.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(m.log.Handler(), slog.LevelWarn), MaxRequestsInFlight: 4})
}

// observe hears of every step of a run.
func (m *metrics) observe(e worker.Event) {
	if m == nil || e.Result == nil {
		return
	}
	switch e.Kind {
	case worker.Finished:
		m.finished.WithLabelValues(string(e.Result.Outcome)).Inc()
		m.attempts.WithLabelValues("final").Inc()
	case worker.Retried:
		m.attempts.WithLabelValues("retry").Inc()
	default:
		return
	}
	m.duration.Observe(e.Result.FinishedAt.Sub(e.Result.StartedAt).Seconds())
}

// fired hears of every firing of a schedule.
func (m *metrics) fired(f schedule.Fired) {
	if m == nil {
		return
	}
	m.firings.Inc()
	m.lateness.Observe(max(f.Late, 0).Seconds())
}

// What is asked for when somebody wants to know.
var (
	queueTasks   = prometheus.NewDesc("agentaudit_queue_tasks", "Tasks in the queue, by class and state.", []string{"class", "state"}, nil)
	openRuns     = prometheus.NewDesc("agentaudit_runs", "Runs without a final result, by state: due now, waiting for their time, of paused batches, handed to the queue (enqueued), running.", []string{"state"}, nil)
	enqueuedRuns = prometheus.NewDesc("agentaudit_runs_enqueued", "Runs handed to the queue and not begun, by class.", []string{"class"}, nil)
	workRuns     = prometheus.NewDesc("agentaudit_runs_workable", "Runs that workers can work on now, or do: due, enqueued and running. Workers are scaled by it.", nil, nil)
	openBatches  = prometheus.NewDesc("agentaudit_batches", "Batches that have not ended, by state.", []string{"state"}, nil)
	inFlight     = prometheus.NewDesc("agentaudit_worker_in_flight", "Audits under way in this process.", nil, nil)
	parked       = prometheus.NewDesc("agentaudit_worker_parked", "Runs of this process that wait for a busy host or address.", nil, nil)
	overdue      = prometheus.NewDesc("agentaudit_schedule_overdue_seconds", "How long schedules should have fired already, 0 if none should.", []string{"schedule"}, nil)
	missed       = prometheus.NewDesc("agentaudit_schedule_missed_total", "Times at which nobody fired a schedule.", []string{"schedule"}, nil)
	up           = prometheus.NewDesc("agentaudit_up", "Whether the store and the queue answer, and the queue can be worked with.", []string{"what"}, nil)
)

// mostOpen bounds the batches that are looked at.
const mostOpen = 1000

// Describe implements [prometheus.Collector].
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{queueTasks, openRuns, enqueuedRuns, workRuns, openBatches, inFlight, parked, overdue, missed, up} {
		out <- d
	}
}

// patience is how long the queue, and how long the store, is waited for.
const patience = 5 * time.Second

// Collect implements [prometheus.Collector].
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	m.asking.Lock()
	defer m.asking.Unlock()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if m.worker != nil {
		gauge(inFlight, float64(m.worker.InFlight()))
		gauge(parked, float64(m.worker.Parked()))
	}
	// Each has a time of its own, at the same time: one that hangs says nothing
	// about the other.
	var wg sync.WaitGroup
	ask := func(what string, f func(context.Context) error) {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			v := 1.0
			if err := f(ctx); err != nil {
				v = 0
				m.log.Warn("no metrics", "of", what, "err", err)
			}
			gauge(up, v, what)
		})
	}
	if m.queue != nil {
		ask("queue", func(ctx context.Context) error { return m.collectQueue(ctx, gauge) })
	}
	if m.store != nil {
		ask("store", func(ctx context.Context) error { return m.collectStore(ctx, gauge) })
	}
	wg.Wait()
}

func (m *metrics) collectQueue(ctx context.Context, gauge func(d *prometheus.Desc, v float64, labels ...string)) error {
	stats, err := m.queue.Stats(ctx)
	if err == nil {
		err = m.queue.Usable(ctx)
	}
	if err != nil {
		return err
	}
	for class, d := range stats {
		for state, n := range map[string]int64{"pending": d.Pending, "active": d.Active, "scheduled": d.Scheduled, "retry": d.Retry} {
			gauge(queueTasks, float64(n), string(class), state)
		}
	}
	return nil
}

func (m *metrics) collectStore(ctx context.Context, gauge func(d *prometheus.Desc, v float64, labels ...string)) error {
	backlog, err := m.store.Backlog(ctx)
	if err != nil {
		return err
	}
	batches, err := m.store.OpenBatches(ctx, mostOpen)
	if err != nil {
		return err
	}
	schedules, err := m.store.Schedules(ctx)
	if err != nil {
		return err
	}
	states := map[store.BatchState]int{store.StateIntake: 0, store.StateQueued: 0, store.StateRunning: 0, store.StatePaused: 0}
	for _, b := range batches {
		states[b.State]++
	}
	var enqueued int64
	for _, class := range []store.Class{store.ClassSmall, store.ClassBulk} {
		gauge(enqueuedRuns, float64(backlog.Enqueued[class]), string(class))
		enqueued += backlog.Enqueued[class]
	}
	for state, n := range map[string]int64{"due": backlog.Due, "waiting": backlog.Waiting, "paused": backlog.Paused, "enqueued": enqueued, "running": backlog.Running} {
		gauge(openRuns, float64(n), state)
	}
	gauge(workRuns, float64(backlog.Due+enqueued+backlog.Running))
	for state, n := range states {
		gauge(openBatches, float64(n), string(state))
	}
	now := m.store.Now()
	for _, v := range schedules {
		late := 0.0
		if !v.Paused && !v.Filling && now.After(v.NextAt) {
			late = now.Sub(v.NextAt).Seconds()
		}
		gauge(overdue, late, v.Name)
		gauge(missed, float64(v.Missed), v.Name)
	}
	return nil
}
