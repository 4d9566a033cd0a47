-- A further kind of counter: agents (name = verdict over agents.txt, sub =
-- outcome of the site). What is there is counted once.
INSERT INTO counts (batch, kind, name, sub, entries, runs)
  SELECT x.batch, 'agents', r.agents, x.outcome, count(*), count(DISTINCT x.run)
  FROM entry_results x JOIN results r ON r.batch = x.batch AND r.run = x.run
  WHERE r.agents <> '' AND x.outcome <> 'cancelled'
  GROUP BY x.batch, r.agents, x.outcome;
