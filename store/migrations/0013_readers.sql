-- When whoever reads the list of a batch in intake last gave a sign of life.
ALTER TABLE batches ADD COLUMN read_at BIGINT NOT NULL DEFAULT 0;
-- How often its reading was begun anew: whoever began earlier adds nothing more.
ALTER TABLE batches ADD COLUMN reader  BIGINT NOT NULL DEFAULT 0;
UPDATE batches SET read_at = created_at WHERE state = 'intake';
