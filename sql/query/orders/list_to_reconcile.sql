-- Orders that wait for a person, by the partial index.
--
-- $1 org_id, $2 order_id of the cursor, $3 limit, $4 status, $5 customer_reference
SELECT
    org_id, order_id, currency, amount, amount_refunded, status, needs_reconciliation, version,
    request, created_at, updated_at, payment_attempt, payment_provider, payment_reference, payment_state, steps
FROM orders
WHERE org_id = $1
    AND order_id < $2
    AND needs_reconciliation
    AND ($4::text IS NULL OR status = $4)
    AND ($5::text IS NULL OR customer_reference = $5)
ORDER BY order_id DESC
LIMIT $3::bigint
