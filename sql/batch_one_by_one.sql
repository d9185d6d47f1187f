-- Sent before the requests of a batch that was undone are asked one by one, on its own connection: all of them wait for
-- those whose row somebody has locked, so these give up almost at once, and then wait alone (sql/session.sql).
-- sql/batch_session.sql takes it back.
SET lock_timeout = '10ms';
