-- The steps of orders, under their locks.
--
-- $1 org_id, $2 order_ids
SELECT order_id, kind, state
FROM operations
WHERE org_id = $1 AND order_id = ANY ($2::uuid[]) AND fact = ''
