-- Sent once on each new connection of the pool. Every wait inside the database is bounded, so that a request always
-- gets its answer: a lock in 1.5 s, a statement in 2.5 s, both below the request's own limit.
SET default_transaction_isolation = 'read committed';
SET lock_timeout = '1500ms';
SET statement_timeout = '2500ms';
SET idle_in_transaction_session_timeout = '10s';
SET timezone = 'UTC';
SET client_min_messages = 'warning';
-- Statements are planned for the average: a bitmap scan with a sort is fine for a customer with ten orders, and reads
-- everything for one with a million (all guests of a shop, say). Every list has an index in its own order; use that.
-- Likewise a plan that was made while a table was small would go on reading it whole when it has grown. (On tables that were
-- never counted by ANALYZE the planner may still choose the wrong index; autovacuum ends that within a minute.)
SET enable_bitmapscan = off;
SET enable_seqscan = off;
