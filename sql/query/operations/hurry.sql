-- Makes an order's charge that waits (for its next look, or for a person) due now, since the order is to be cancelled: a new
-- start, with all its attempts and questions.
--
-- $1 org_id, $2 order_id, $3 seconds until its time is up
UPDATE operations
SET next_attempt_at = now(), attempts = 0, questions = 0, deadline_at = now() + $3::double precision * interval '1 second',
    state = CASE WHEN state = 'needs_reconciliation' THEN 'unknown' ELSE state END
WHERE org_id = $1 AND order_id = $2 AND kind = 'charge'
    AND state IN ('ready', 'retry_at', 'unknown', 'needs_reconciliation')
