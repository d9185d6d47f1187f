-- The order with a reference: one at most, so there is nothing to put in order.
-- Below the cursor (the highest UUID for the first page), like every list; the other filters are applied to the row
-- (null: any).
--
-- $1 org_id, $2 order_id of the cursor, $3 limit, $4 status, $5 needs_reconciliation, $6 customer_reference, $7 order_reference
SELECT
    org_id, order_id, currency, amount, amount_refunded, status, needs_reconciliation, version,
    request, created_at, updated_at, payment_attempt, payment_provider, payment_reference, payment_state, steps
FROM orders
WHERE org_id = $1
    AND order_id < $2
    AND ($4::text IS NULL OR status = $4)
    AND ($5::boolean IS NULL OR needs_reconciliation = $5)
    AND ($6::text IS NULL OR customer_reference = $6)
    AND order_reference = $7::text
LIMIT $3::bigint
