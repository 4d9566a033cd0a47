-- Who may use the dashboard. hash is a SHA-256 in hexadecimal over a secret
-- that is kept nowhere.
CREATE TABLE sessions (
  hash       TEXT   NOT NULL PRIMARY KEY,
  name       TEXT   NOT NULL,
  proof      TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE tokens (
  id         TEXT   NOT NULL PRIMARY KEY,
  hash       TEXT   NOT NULL UNIQUE,
  name       TEXT   NOT NULL,
  scope      TEXT   NOT NULL,
  created_by TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  used_at    BIGINT NOT NULL
);

-- Links to one result (run) or to one view (batch and query). Ids are the text
-- that people see.
CREATE TABLE shares (
  id         TEXT   NOT NULL PRIMARY KEY,
  hash       TEXT   NOT NULL UNIQUE,
  batch      TEXT   NOT NULL,
  run        TEXT   NOT NULL,
  query      TEXT   NOT NULL,
  created_by TEXT   NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX shares_expiry ON shares (expires_at);
