-- What was asked of anybody else for one order, by the primary key.
--
-- $1 org_id, $2 order_id, $3 limit
SELECT
    order_id, kind, fact, state, operation_key, amount, idempotency_key, attempts, questions, next_attempt_at, deadline_at,
    lease_until, first_sent_at, last_sent_at, external_reference, last_outcome, created_at, updated_at
FROM operations
WHERE org_id = $1 AND order_id = $2
ORDER BY kind, fact
LIMIT $3::bigint
