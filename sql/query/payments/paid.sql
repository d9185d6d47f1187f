-- The attempts of an order that hold money of the customer's, locked after the order.
--
-- $1 org_id, $2 order_id
SELECT attempt, gateway_reference, amount, currency, refunded, state
FROM payments
WHERE org_id = $1 AND order_id = $2 AND state IN ('succeeded', 'partially_refunded')
ORDER BY attempt
FOR UPDATE
