-- Ends a step that waits for one that was given up.
--
-- $1 org_id, $2 order_id, $3 kind
UPDATE operations
SET state = 'failed', last_outcome = 'given_up', updated_at = now()
WHERE org_id = $1 AND order_id = $2 AND kind = $3 AND fact = '' AND state = 'waiting'
