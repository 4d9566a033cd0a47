-- Lists of sites, by host and by the last change of their outcome.
CREATE INDEX sites_host          ON sites (host, key);
CREATE INDEX sites_outcome_host  ON sites (outcome, host, key);
CREATE INDEX sites_since         ON sites (since, key);
CREATE INDEX sites_outcome_since ON sites (outcome, since, key);
