-- As payments/stands, for the attempt that a payment at the gateway pays.
--
-- $1 org_id, $2 provider, $3 gateway_reference
SELECT
    payments.order_id, payments.attempt, payments.gateway_reference, payments.amount, payments.currency, payments.state,
    operations.state AS charge, coalesce(operations.lease_until > now(), false) AS at_work
FROM payments
JOIN operations ON operations.org_id = $1
    AND operations.order_id = payments.order_id
    AND operations.kind = 'charge'
    AND operations.fact = payments.attempt::text
WHERE payments.org_id = $1 AND payments.provider = $2 AND payments.gateway_reference = $3
