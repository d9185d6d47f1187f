-- The refund of an order that has this name at the gateway, for comparing. An order has few refunds, so the primary key finds it.
--
-- $1 org_id, $2 order_id, $3 external_reference
SELECT order_id, fact, state, amount, external_reference, coalesce(lease_until > now(), false) AS at_work
FROM operations
WHERE org_id = $1 AND order_id = $2 AND kind = 'refund' AND external_reference = $3
LIMIT 1
