-- Effects of one order, by the primary key, in the order of every list of effects.
--
-- $1 org_id, $2 order_id, $3 kind and $4 fact of the cursor, $5 limit, $6 state, $7 kind, $8 the order
SELECT
    order_id, kind, fact, state, operation_key, amount, idempotency_key, attempts, questions, next_attempt_at, deadline_at,
    lease_until, first_sent_at, last_sent_at, external_reference, last_outcome, created_at, updated_at
FROM operations
WHERE org_id = $1
    AND order_id = $8::uuid
    AND (order_id, kind, fact) < ($2::uuid, $3::text, $4::text)
    AND ($6::text IS NULL OR state = $6)
    AND ($7::text IS NULL OR kind = $7)
ORDER BY order_id DESC, kind DESC, fact DESC
LIMIT $5::bigint
