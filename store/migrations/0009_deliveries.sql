-- Messages to directories about listings whose outcome changed. state is due,
-- done or failed; attempts counts those that have begun.
CREATE TABLE deliveries (
  id         BIGINT NOT NULL PRIMARY KEY,
  batch      BIGINT NOT NULL,
  ref        TEXT   NOT NULL,
  url        TEXT   NOT NULL,
  body       TEXT   NOT NULL,
  state      TEXT   NOT NULL,
  attempts   BIGINT NOT NULL,
  due_at     BIGINT NOT NULL,
  status     BIGINT NOT NULL,
  error      TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  ended_at   BIGINT NOT NULL
);
CREATE INDEX deliveries_due   ON deliveries (due_at, id) WHERE state = 'due';
CREATE INDEX deliveries_batch ON deliveries (batch, id);

-- Where the outcomes of a listing are written back to ('' for nowhere), and up
-- to which entry they were compared; -1 is the end.
ALTER TABLE listing_sources ADD COLUMN write_back TEXT   NOT NULL DEFAULT '';
ALTER TABLE listing_sources ADD COLUMN told       BIGINT NOT NULL DEFAULT 0;

-- The last definite outcome of each listing of a source that is written back.
CREATE TABLE listing_outcomes (
  source  TEXT  NOT NULL,
  key     BYTEA NOT NULL,
  outcome TEXT  NOT NULL,
  PRIMARY KEY (source, key)
) WITHOUT ROWID;
