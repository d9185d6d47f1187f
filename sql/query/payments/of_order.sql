-- Every attempt of an order, locked after it.
--
-- $1 org_id, $2 order_id
SELECT attempt, gateway_reference, amount, currency, refunded, state
FROM payments
WHERE org_id = $1 AND order_id = $2
ORDER BY attempt
FOR UPDATE
