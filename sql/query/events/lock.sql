-- A fact, locked after its order, so that it is applied once.
--
-- $1 org_id, $2 provider, $3 fact_key
SELECT
    event_id, what, reference, amount, currency, provider_time, fact, named_order_id, order_id, outcome,
    deadline <= now() AS overdue
FROM events
WHERE org_id = $1 AND provider = $2 AND fact_key = $3
FOR UPDATE
