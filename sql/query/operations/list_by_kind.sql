-- Effects of one kind, by the index on kind. Most effects are done, so a filter on that reads little more than a page.
--
-- $1 org_id, $2 order_id, $3 kind and $4 fact of the cursor, $5 limit, $6 state, $7 kind
SELECT
    order_id, kind, fact, state, operation_key, amount, idempotency_key, attempts, questions, next_attempt_at, deadline_at,
    lease_until, first_sent_at, last_sent_at, external_reference, last_outcome, created_at, updated_at
FROM operations
WHERE org_id = $1
    AND kind = $7::text
    AND (order_id, kind, fact) < ($2::uuid, $3::text, $4::text)
    AND ($6::text IS NULL OR state = $6)
ORDER BY order_id DESC, fact DESC
LIMIT $5::bigint
