-- Every fact about one payment at the provider, locked in one order after the payment's order.
--
-- $1 org_id, $2 provider, $3 reference
SELECT
    fact_key, event_id, what, reference, amount, currency, provider_time, fact, named_order_id, order_id, outcome,
    deadline <= now() AS overdue
FROM events
WHERE org_id = $1 AND provider = $2 AND reference = $3
ORDER BY fact_key
FOR UPDATE
