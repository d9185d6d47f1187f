-- Notes that an order is to be cancelled. The first request's time stands.
--
-- $1 org_id, $2 order_id
UPDATE orders
SET cancel_requested_at = coalesce(cancel_requested_at, now())
WHERE org_id = $1 AND order_id = $2
