-- Ends the steps of a cancelled order that nobody has begun.
--
-- $1 org_id, $2 order_id
UPDATE operations
SET state = 'failed', next_attempt_at = NULL, last_outcome = 'cancelled', updated_at = now()
WHERE org_id = $1 AND order_id = $2 AND fact = ''
    AND state IN ('waiting', 'ready', 'retry_at') AND first_sent_at IS NULL
