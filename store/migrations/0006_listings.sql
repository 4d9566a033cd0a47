-- Batches that were read from a directory's listing API. source is the address
-- of the listing, position a JSON text that says where to go on.
CREATE TABLE listing_sources (
  batch    BIGINT NOT NULL PRIMARY KEY,
  source   TEXT   NOT NULL,
  position TEXT   NOT NULL
);
CREATE INDEX listing_sources_source ON listing_sources (source, batch);

-- The listings that were taken in, accepted or rejected: key is 16 bytes of a
-- hash over what tells them apart from one batch to the next.
CREATE TABLE listings (
  batch BIGINT NOT NULL,
  key   BYTEA  NOT NULL,
  id    TEXT   NOT NULL,
  url   TEXT   NOT NULL,
  PRIMARY KEY (batch, key)
) WITHOUT ROWID;
