-- The order that already carries a reference.
--
-- $1 org_id, $2 order_reference
SELECT order_id
FROM orders
WHERE org_id = $1 AND order_reference = $2
