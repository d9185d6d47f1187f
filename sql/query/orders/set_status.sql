-- Moves orders on to their next version, under their locks, with what their payments, effects and cases add up to now. Of
-- several attempts the one that was paid is shown, else the newest.
--
-- $1 org_id, $2 order_ids, $3 the status of each, $4 the version that each had
UPDATE orders
SET status = moved.status,
    needs_reconciliation = EXISTS (
        SELECT FROM reconciliation_cases
        WHERE reconciliation_cases.org_id = $1 AND reconciliation_cases.order_id = moved.order_id AND state = 'open'
    ),
    amount_refunded = (
        SELECT coalesce(sum(refunded), 0)::bigint
        FROM payments
        WHERE payments.org_id = $1 AND payments.order_id = moved.order_id
    ),
    (payment_attempt, payment_provider, payment_reference, payment_state) = (
        SELECT attempt, provider, gateway_reference, state
        FROM payments
        WHERE payments.org_id = $1 AND payments.order_id = moved.order_id
        ORDER BY state IN ('succeeded', 'partially_refunded', 'refunded', 'disputed') DESC, attempt DESC
        LIMIT 1
    ),
    steps = ARRAY(
        SELECT kind || '=' || state
        FROM (
            SELECT DISTINCT ON (kind) kind, state, created_at
            FROM operations
            WHERE operations.org_id = $1 AND operations.order_id = moved.order_id
            ORDER BY kind, created_at DESC, fact DESC
        ) newest
        ORDER BY created_at, kind
    ),
    updated_at = greatest(updated_at, now()),
    version = orders.version + 1
FROM unnest($2::uuid[], $3::text[], $4::integer[]) AS moved (order_id, status, version)
WHERE orders.org_id = $1 AND orders.order_id = moved.order_id AND orders.version = moved.version
