-- What is audited again and again. A schedule has its id from the clock, as a
-- batch has. next_due is when it is to fire by its expression, next_at the same
-- with its jitter; fence changes with every step, so that one of many who see
-- it due wins. As long as filling is set, last_batch is being read by who holds
-- the lease.
CREATE TABLE schedules (
  id          BIGINT  NOT NULL PRIMARY KEY,
  name        TEXT    NOT NULL UNIQUE,
  cron        TEXT    NOT NULL,
  zone        TEXT    NOT NULL,
  jitter      BIGINT  NOT NULL,
  spread      BIGINT  NOT NULL,
  batch       BIGINT  NOT NULL,
  sources     TEXT    NOT NULL,
  options     TEXT    NOT NULL,
  paused      BOOLEAN NOT NULL,
  forced      BOOLEAN NOT NULL,
  created_at  BIGINT  NOT NULL,
  next_due    BIGINT  NOT NULL,
  next_at     BIGINT  NOT NULL,
  last_due    BIGINT  NOT NULL,
  last_at     BIGINT  NOT NULL,
  last_batch  BIGINT  NOT NULL,
  last_error  TEXT    NOT NULL,
  late        BIGINT  NOT NULL,
  missed      BIGINT  NOT NULL,
  filling     BOOLEAN NOT NULL,
  lease_until BIGINT  NOT NULL,
  fence       BIGINT  NOT NULL
);
