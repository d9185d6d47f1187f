-- Some orders, by the primary key.
--
-- $1 org_id, $2 order_ids
SELECT
    org_id, order_id, currency, amount, amount_refunded, status, needs_reconciliation, version,
    request, created_at, updated_at, payment_attempt, payment_provider, payment_reference, payment_state, steps
FROM orders
WHERE org_id = $1 AND order_id = ANY ($2::uuid[])
