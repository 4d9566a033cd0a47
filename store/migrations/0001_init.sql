-- Times are Unix milliseconds, 0 for none. Lists are JSON text. Ids are made in Go.

CREATE TABLE batches (
  id          BIGINT  NOT NULL PRIMARY KEY,
  name        TEXT    NOT NULL,
  state       TEXT    NOT NULL,
  note        TEXT    NOT NULL,
  class       TEXT    NOT NULL,
  sources     TEXT    NOT NULL,
  options     TEXT    NOT NULL,
  created_at  BIGINT  NOT NULL,
  sealed_at   BIGINT  NOT NULL,
  started_at  BIGINT  NOT NULL,
  finished_at BIGINT  NOT NULL,
  entries     BIGINT  NOT NULL,
  duplicates  BIGINT  NOT NULL,
  rejected    BIGINT  NOT NULL,
  runs        BIGINT  NOT NULL,
  open_runs   BIGINT  NOT NULL
);
CREATE INDEX batches_open ON batches (id) WHERE state IN ('intake', 'queued', 'running', 'paused');
CREATE INDEX batches_busy ON batches (id) WHERE open_runs > 0;

-- One accepted line. n counts from 1 in the batch, run is a run of the batch.
-- dup says that an earlier entry has the same run: only these are indexed by
-- run, the first entry stands in the run.
CREATE TABLE entries (
  batch  BIGINT NOT NULL,
  n      BIGINT NOT NULL,
  run    BIGINT NOT NULL,
  source BIGINT NOT NULL,
  line   BIGINT NOT NULL,
  input  TEXT   NOT NULL,
  ref    TEXT   NOT NULL,
  label  TEXT   NOT NULL,
  tags   TEXT   NOT NULL,
  notes  TEXT   NOT NULL,
  dup    BOOLEAN NOT NULL,
  PRIMARY KEY (batch, n)
) WITHOUT ROWID;
CREATE INDEX entries_dup ON entries (batch, run) WHERE dup;

-- What entries are searched by: kind is host, label, ref or tag; all but tags
-- in lower case (ASCII). Written in order when the intake ends, tags before.
CREATE TABLE entry_words (
  batch BIGINT NOT NULL,
  kind  TEXT   NOT NULL,
  word  TEXT   NOT NULL,
  entry BIGINT NOT NULL,
  PRIMARY KEY (batch, kind, word, entry)
) WITHOUT ROWID;

CREATE TABLE rejected (
  batch  BIGINT NOT NULL,
  n      BIGINT NOT NULL,
  source BIGINT NOT NULL,
  line   BIGINT NOT NULL,
  input  TEXT   NOT NULL,
  reason TEXT   NOT NULL,
  PRIMARY KEY (batch, n)
) WITHOUT ROWID;

-- One audit of one target (with one README URL) in a batch.
CREATE TABLE runs (
  batch       BIGINT  NOT NULL,
  n           BIGINT  NOT NULL,
  entry       BIGINT  NOT NULL,
  target      TEXT    NOT NULL,
  readme      TEXT    NOT NULL,
  host        TEXT    NOT NULL,
  host_rank   BIGINT  NOT NULL,
  state       TEXT    NOT NULL,
  due_at      BIGINT  NOT NULL,
  enqueued_at BIGINT  NOT NULL,
  attempt     BIGINT  NOT NULL,
  token       BIGINT  NOT NULL,
  lost        BIGINT  NOT NULL,
  kept        BOOLEAN NOT NULL,
  reopened    BOOLEAN NOT NULL,
  worker      TEXT    NOT NULL,
  lease_until BIGINT  NOT NULL,
  PRIMARY KEY (batch, n)
) WITHOUT ROWID;
CREATE INDEX runs_queued   ON runs (batch, host_rank, n)   WHERE state = 'queued';
CREATE INDEX runs_waiting  ON runs (batch, due_at)         WHERE state = 'waiting';
CREATE INDEX runs_enqueued ON runs (batch, enqueued_at)    WHERE state = 'enqueued';
CREATE INDEX runs_running  ON runs (batch, n)              WHERE state = 'running';

-- Finds the run of a target: key is 16 bytes of a hash over target and README.
-- Complete when the intake has ended.
CREATE TABLE run_keys (
  batch BIGINT NOT NULL,
  key   BYTEA  NOT NULL,
  run   BIGINT NOT NULL,
  PRIMARY KEY (batch, key)
) WITHOUT ROWID;

-- A definite result of an earlier attempt, to fall back on.
CREATE TABLE run_kept (
  batch BIGINT NOT NULL,
  run   BIGINT NOT NULL,
  enc   BIGINT NOT NULL,
  body  BYTEA  NOT NULL,
  PRIMARY KEY (batch, run)
);

-- The final result of a run. site is 16 bytes of a hash over the target.
CREATE TABLE results (
  batch       BIGINT  NOT NULL,
  run         BIGINT  NOT NULL,
  site        BYTEA   NOT NULL,
  entries     BIGINT  NOT NULL,
  outcome     TEXT    NOT NULL,
  reason      TEXT    NOT NULL,
  detail      TEXT    NOT NULL,
  valid       BOOLEAN NOT NULL,
  publication TEXT    NOT NULL,
  text_index  TEXT    NOT NULL,
  readme      TEXT    NOT NULL,
  agents      TEXT    NOT NULL,
  failing     TEXT    NOT NULL,
  warning     TEXT    NOT NULL,
  attempts    BIGINT  NOT NULL,
  started_at  BIGINT  NOT NULL,
  finished_at BIGINT  NOT NULL,
  rules       TEXT    NOT NULL,
  PRIMARY KEY (batch, run)
) WITHOUT ROWID;
CREATE INDEX results_site ON results (site, finished_at);

-- The documents of a result, together in one body; enc says how it is packed.
CREATE TABLE reports (
  batch BIGINT NOT NULL,
  run   BIGINT NOT NULL,
  enc   BIGINT NOT NULL,
  body  BYTEA  NOT NULL,
  PRIMARY KEY (batch, run)
);

-- The final row of an entry, thin: what pages are cut and filtered by.
CREATE TABLE entry_results (
  batch   BIGINT NOT NULL,
  entry   BIGINT NOT NULL,
  run     BIGINT NOT NULL,
  outcome TEXT   NOT NULL,
  reason  TEXT   NOT NULL,
  PRIMARY KEY (batch, entry)
) WITHOUT ROWID;
CREATE INDEX entry_results_outcome ON entry_results (batch, outcome, entry);
CREATE INDEX entry_results_reason  ON entry_results (batch, reason, entry);

-- Checks that fail or warn. check_class is the id without what differs by site.
CREATE TABLE entry_checks (
  batch       BIGINT NOT NULL,
  check_class TEXT   NOT NULL,
  entry       BIGINT NOT NULL,
  status      TEXT   NOT NULL,
  PRIMARY KEY (batch, check_class, entry, status)
) WITHOUT ROWID;

-- Counters. kind: outcome (name = outcome), reason (name = reason, sub =
-- outcome), check (name = check_class, sub = status). Batch 0 holds the
-- present state of all sites.
CREATE TABLE counts (
  batch   BIGINT NOT NULL,
  kind    TEXT   NOT NULL,
  name    TEXT   NOT NULL,
  sub     TEXT   NOT NULL,
  entries BIGINT NOT NULL,
  runs    BIGINT NOT NULL,
  PRIMARY KEY (batch, kind, name, sub)
) WITHOUT ROWID;

-- A target over time. key is 16 bytes of a hash over the target; zero and ''
-- stand for no definite outcome yet.
CREATE TABLE sites (
  key            BYTEA  NOT NULL PRIMARY KEY,
  target         TEXT   NOT NULL,
  host           TEXT   NOT NULL,
  outcome        TEXT   NOT NULL,
  reason         TEXT   NOT NULL,
  since          BIGINT NOT NULL,
  batch          BIGINT NOT NULL,
  run            BIGINT NOT NULL,
  checked_at     BIGINT NOT NULL,
  definite       TEXT   NOT NULL,
  definite_batch BIGINT NOT NULL,
  definite_run   BIGINT NOT NULL,
  definite_at    BIGINT NOT NULL,
  results        BIGINT NOT NULL
) WITHOUT ROWID;
