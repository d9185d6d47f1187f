-- Whether a payment at the gateway is known to pay another attempt.
--
-- $1 org_id, $2 order_id, $3 attempt, $4 gateway_reference
SELECT count(*) AS known
FROM payments
WHERE org_id = $1 AND gateway_reference = $4 AND (order_id, attempt) <> ($2::uuid, $3::integer)
