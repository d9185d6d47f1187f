-- How one attempt and its charge stand, for comparing. Not locked: whoever changes them locks the order and looks again.
--
-- $1 org_id, $2 order_id, $3 attempt
SELECT
    payments.order_id, payments.attempt, payments.gateway_reference, payments.amount, payments.currency, payments.state,
    operations.state AS charge, coalesce(operations.lease_until > now(), false) AS at_work
FROM payments
JOIN operations ON operations.org_id = $1
    AND operations.order_id = payments.order_id
    AND operations.kind = 'charge'
    AND operations.fact = payments.attempt::text
WHERE payments.org_id = $1 AND payments.order_id = $2 AND payments.attempt = $3
