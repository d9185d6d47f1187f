-- Tables that grow without bound while their rows are changed a few times and then never again. By default PostgreSQL cleans a
-- table when a fifth of it has changed: at twenty million orders that is four million dead rows, which every look into the queues
-- of unfinished work steps over. docs/settings.md has what was measured.

ALTER TABLE idempotency_keys SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02
);
ALTER TABLE orders SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02
);
ALTER TABLE payments SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02
);
ALTER TABLE operations SET (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02
);
ALTER TABLE events SET (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02
);
