-- Answers to requests that a program may send again under the same key
-- (Idempotency-Key). status is 0 while the first one is under way.
CREATE TABLE answers (
  hash        TEXT   NOT NULL PRIMARY KEY,
  fingerprint TEXT   NOT NULL,
  status      BIGINT NOT NULL,
  location    TEXT   NOT NULL,
  body        BYTEA,
  created_at  BIGINT NOT NULL
);
CREATE INDEX answers_age ON answers (created_at);
