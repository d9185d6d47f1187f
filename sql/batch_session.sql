-- Sent once on each new connection that carries batches. A row that has to wait for somebody else's lock would make its
-- neighbours wait with it, so a batch gives up soon; each of its requests is then asked alone, with the usual patience
-- (sql/session.sql).
SET default_transaction_isolation = 'read committed';
SET lock_timeout = '100ms';
SET statement_timeout = '2000ms';
SET idle_in_transaction_session_timeout = '10s';
SET timezone = 'UTC';
SET client_min_messages = 'warning';
-- The rows of a batch are few and each is found by its key; never read a table for them.
SET enable_seqscan = off;
SET enable_bitmapscan = off;
