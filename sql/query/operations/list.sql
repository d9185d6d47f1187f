-- Effects of one organisation, by the primary key: order ids are in order of creation, so the newest orders come first.
-- Below the cursor (the highest UUID for the first page). Each leading filter has a file of its own, so that each has its own
-- plan and index; the other filters are applied to the rows (null: any).
--
-- $1 org_id, $2 order_id, $3 kind and $4 fact of the cursor, $5 limit, $6 state
SELECT
    order_id, kind, fact, state, operation_key, amount, idempotency_key, attempts, questions, next_attempt_at, deadline_at,
    lease_until, first_sent_at, last_sent_at, external_reference, last_outcome, created_at, updated_at
FROM operations
WHERE org_id = $1
    AND (order_id, kind, fact) < ($2::uuid, $3::text, $4::text)
    AND ($6::text IS NULL OR state = $6)
ORDER BY order_id DESC, kind DESC, fact DESC
LIMIT $5::bigint
