-- Locks orders that nobody else has locked now; the others are left out, and whoever asks goes on with them one by one.
--
-- $1 org_id, $2 order_ids
SELECT
    order_id, status, cancel_requested_at IS NOT NULL AS cancel_requested, version, amount, currency, now() AS now
FROM orders
WHERE org_id = $1 AND order_id = ANY ($2::uuid[])
FOR UPDATE SKIP LOCKED
