-- The steps of an order, under its lock.
--
-- $1 org_id, $2 order_id
SELECT kind, state
FROM operations
WHERE org_id = $1 AND order_id = $2 AND fact = ''
