-- With "WHERE dup" the planner keeps the condition, needs the table for it, and
-- would rather read all entries of the batch for each run. "dup = true" it
-- takes as said by the index.
DROP INDEX entries_dup;
CREATE INDEX entries_dup ON entries (batch, run) WHERE dup = true;
