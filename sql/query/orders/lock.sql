-- Locks an order before anything that changes it or its payments, operations and claims: everybody takes it first.
--
-- $1 org_id, $2 order_id
SELECT status, cancel_requested_at IS NOT NULL AS cancel_requested, version, amount, currency, now() AS now
FROM orders
WHERE org_id = $1 AND order_id = $2
FOR UPDATE
