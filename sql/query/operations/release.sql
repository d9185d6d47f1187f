-- Lets a step begin whose turn has come; its time begins now.
--
-- $1 org_id, $2 order_id, $3 kind, $4 seconds until its time is up
UPDATE operations
SET state = 'ready', next_attempt_at = now(), deadline_at = now() + $4::double precision * interval '1 second',
    updated_at = now()
WHERE org_id = $1 AND order_id = $2 AND kind = $3 AND fact = '' AND state = 'waiting'
