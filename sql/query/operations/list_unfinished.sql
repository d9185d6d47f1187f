-- Effects in one state other than done, by the partial index of those: they are few.
--
-- $1 org_id, $2 order_id, $3 kind and $4 fact of the cursor, $5 limit, $6 state, $7 kind
SELECT
    order_id, kind, fact, state, operation_key, amount, idempotency_key, attempts, questions, next_attempt_at, deadline_at,
    lease_until, first_sent_at, last_sent_at, external_reference, last_outcome, created_at, updated_at
FROM operations
WHERE org_id = $1
    AND state <> 'done'
    AND state = $6::text
    AND (order_id, kind, fact) < ($2::uuid, $3::text, $4::text)
    AND ($7::text IS NULL OR kind = $7)
ORDER BY order_id DESC, kind DESC, fact DESC
LIMIT $5::bigint
