-- Rows that every group of results changes: room beside them for new versions,
-- and a vacuum by how much was changed, not by how large the table is. The lists
-- of due runs are read from their beginning, where the dead versions lie.
-- only postgres
ALTER TABLE batches SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE counts SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE runs SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
-- both
