-- Orders in one status.
-- Newest first, below the cursor, by the index on status.
--
-- $1 org_id, $2 order_id of the cursor, $3 limit, $4 status, $5 needs_reconciliation
SELECT
    org_id, order_id, currency, amount, amount_refunded, status, needs_reconciliation, version,
    request, created_at, updated_at, payment_attempt, payment_provider, payment_reference, payment_state, steps
FROM orders
WHERE org_id = $1
    AND order_id < $2
    AND status = $4::text
    AND ($5::boolean IS NULL OR needs_reconciliation = $5)
ORDER BY order_id DESC
LIMIT $3::bigint
