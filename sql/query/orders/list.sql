-- Orders of one organisation, by the primary key.
-- Newest first, below the cursor (the highest UUID for the first page). Each leading filter has a file of its own, so
-- that each has its own plan and index; the other filters are applied to the rows (null: any).
--
-- $1 org_id, $2 order_id of the cursor, $3 limit, $4 status, $5 needs_reconciliation
SELECT
    org_id, order_id, currency, amount, amount_refunded, status, needs_reconciliation, version,
    request, created_at, updated_at, payment_attempt, payment_provider, payment_reference, payment_state, steps
FROM orders
WHERE org_id = $1
    AND order_id < $2
    AND ($4::text IS NULL OR status = $4)
    AND ($5::boolean IS NULL OR needs_reconciliation = $5)
ORDER BY order_id DESC
LIMIT $3::bigint
