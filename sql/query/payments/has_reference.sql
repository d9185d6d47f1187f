-- The order of the other attempt that a payment at the same provider is known to be of, and how that attempt stands.
--
-- $1 org_id, $2 order_id, $3 attempt, $4 gateway_reference
SELECT order_id, state
FROM payments
WHERE org_id = $1
    AND provider = (SELECT provider FROM payments WHERE org_id = $1 AND order_id = $2::uuid AND attempt = $3::integer)
    AND gateway_reference = $4 AND (order_id, attempt) <> ($2, $3)
LIMIT 1
