-- Makes an order's charge that waits (for its next look, or for a person) due now, since the order is to be cancelled.
--
-- $1 org_id, $2 order_id
UPDATE operations
SET next_attempt_at = now(),
    state = CASE WHEN state = 'needs_reconciliation' THEN 'unknown' ELSE state END
WHERE org_id = $1 AND order_id = $2 AND kind = 'charge'
    AND state IN ('ready', 'retry_at', 'unknown', 'needs_reconciliation')
