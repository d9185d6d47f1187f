-- Moves an order on to its next version, under its lock, with what its payments, effects and cases add up to now. Of several
-- attempts the one that was paid is shown, else the newest.
--
-- $1 org_id, $2 order_id, $3 status, $4 the version it had
UPDATE orders
SET status = $3,
    needs_reconciliation = EXISTS (
        SELECT FROM reconciliation_cases WHERE org_id = $1 AND order_id = $2 AND state = 'open'
    ),
    amount_refunded = (
        SELECT coalesce(sum(refunded), 0)::bigint FROM payments WHERE org_id = $1 AND order_id = $2
    ),
    (payment_attempt, payment_provider, payment_reference, payment_state) = (
        SELECT attempt, provider, gateway_reference, state
        FROM payments
        WHERE org_id = $1 AND order_id = $2
        ORDER BY state IN ('succeeded', 'partially_refunded', 'refunded', 'disputed') DESC, attempt DESC
        LIMIT 1
    ),
    steps = ARRAY(
        SELECT kind || '=' || state
        FROM (
            SELECT DISTINCT ON (kind) kind, state, created_at
            FROM operations
            WHERE org_id = $1 AND order_id = $2
            ORDER BY kind, created_at DESC, fact DESC
        ) newest
        ORDER BY created_at, kind
    ),
    updated_at = greatest(updated_at, now()),
    version = version + 1
WHERE org_id = $1 AND order_id = $2 AND version = $4
