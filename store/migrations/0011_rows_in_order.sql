-- When the result of an entry came, and how long its last attempt lasted (in
-- milliseconds): rows are sorted by them, as they are by outcome and reason. 0
-- for cancelled entries.
ALTER TABLE entry_results ADD COLUMN finished_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE entry_results ADD COLUMN took        BIGINT NOT NULL DEFAULT 0;
UPDATE entry_results SET finished_at = r.finished_at, took = CASE WHEN r.finished_at > r.started_at THEN r.finished_at - r.started_at ELSE 0 END
  FROM results r WHERE r.batch = entry_results.batch AND r.run = entry_results.run AND entry_results.outcome <> 'cancelled';
CREATE INDEX entry_results_finished ON entry_results (batch, finished_at, entry);
CREATE INDEX entry_results_took     ON entry_results (batch, took, entry);

-- The list of a batch in intake was read to its end, and waits to be confirmed.
ALTER TABLE batches ADD COLUMN held BOOLEAN NOT NULL DEFAULT false;
