-- The canonical request of one order, to tell a client where its other request differs.
--
-- $1 org_id, $2 order_id
SELECT request
FROM orders
WHERE org_id = $1 AND order_id = $2
