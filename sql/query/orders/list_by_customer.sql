-- Orders of one customer, in any of some statuses.
-- Newest first, below the cursor (the highest UUID for the first page): a page of each status by the index on customer and
-- status, and of those the newest. One index serves customers with and without a status, and costs each new order one
-- entry at a place of its own less than two would.
--
-- $1 org_id, $2 order_id of the cursor, $3 limit, $4 statuses, $5 needs_reconciliation (null: any), $6 customer_reference
SELECT
    org_id, order_id, currency, amount, amount_refunded, status, needs_reconciliation, version,
    request, created_at, updated_at, payment_attempt, payment_provider, payment_reference, payment_state, steps
FROM unnest($4::text[]) AS one (wanted_status)
CROSS JOIN LATERAL (
    SELECT *
    FROM orders
    WHERE org_id = $1
        AND order_id < $2
        AND status = one.wanted_status
        AND ($5::boolean IS NULL OR needs_reconciliation = $5)
        AND customer_reference = $6::text
    ORDER BY order_id DESC
    LIMIT $3::bigint
) AS page
ORDER BY order_id DESC
LIMIT $3::bigint
