-- Where the end of a batch is told; with the url '' changed outcomes are
-- confirmed, and that is all. rules is a JSON text. state is waiting (for the
-- end of the batch), confirming (the same, once more, after changed outcomes were
-- audited again) or told. round counts how often the batch was opened again since.
-- Results were compared up to the run position, -1 is the end; tally is a JSON
-- text of what was counted on the way.
CREATE TABLE webhooks (
  batch    BIGINT NOT NULL PRIMARY KEY,
  url      TEXT   NOT NULL,
  rules    TEXT   NOT NULL,
  state    TEXT   NOT NULL,
  round    BIGINT NOT NULL,
  position BIGINT NOT NULL,
  tally    TEXT   NOT NULL
);
CREATE INDEX webhooks_open ON webhooks (batch) WHERE state <> 'told';

-- The definite outcome of a site that a receiver knows. hook is 16 bytes of a
-- hash over the URL of the webhook, key the same of target and README. batch and
-- round say where the site was seen for the first time, 0 for before all that.
CREATE TABLE webhook_outcomes (
  hook    BYTEA  NOT NULL,
  key     BYTEA  NOT NULL,
  outcome TEXT   NOT NULL,
  batch   BIGINT NOT NULL,
  round   BIGINT NOT NULL,
  PRIMARY KEY (hook, key)
) WITHOUT ROWID;

-- What a digest is made of, from the comparison until it is told. kind is
-- fixed, new, broken (the first ones only) or unsettled.
CREATE TABLE webhook_changes (
  batch  BIGINT NOT NULL,
  run    BIGINT NOT NULL,
  kind   TEXT   NOT NULL,
  before TEXT   NOT NULL,
  key    BYTEA  NOT NULL,
  PRIMARY KEY (batch, run)
) WITHOUT ROWID;

-- What a message is about; the webhook of a schedule, '' for none.
ALTER TABLE deliveries ADD COLUMN event   TEXT NOT NULL DEFAULT 'listing.outcome-changed';
ALTER TABLE schedules  ADD COLUMN webhook TEXT NOT NULL DEFAULT '';
