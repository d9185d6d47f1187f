-- Lets a step begin whose turn has come.
--
-- $1 org_id, $2 order_id, $3 kind
UPDATE operations
SET state = 'ready', next_attempt_at = now(), updated_at = now()
WHERE org_id = $1 AND order_id = $2 AND kind = $3 AND fact = '' AND state = 'waiting'
