-- The order of the other attempt that is known to have been paid by a payment at the gateway.
--
-- $1 org_id, $2 order_id, $3 attempt, $4 gateway_reference
SELECT order_id
FROM payments
WHERE org_id = $1 AND gateway_reference = $4 AND (order_id, attempt) <> ($2::uuid, $3::integer)
LIMIT 1
