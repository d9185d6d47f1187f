-- One attempt, locked after its order.
--
-- $1 org_id, $2 order_id, $3 attempt
SELECT method_sealed, gateway_sha256, attempt, gateway_reference, amount, currency, refunded, state
FROM payments
WHERE org_id = $1 AND order_id = $2 AND attempt = $3
FOR UPDATE
