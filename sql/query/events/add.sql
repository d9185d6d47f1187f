-- A fact, once. No row: it is known. Two deliveries at once: the second waits for the first one's short transaction, and
-- never for an order.
--
-- $1 org_id, $2 provider, $3 fact_key, $4 event_id, $5 what, $6 reference, $7 amount, $8 currency, $9 provider_time,
-- $10 fact, $11 named_order_id, $12 order_id, $13 outcome, $14 seconds until its deadline
INSERT INTO events (
    org_id, provider, fact_key, event_id, what, reference, amount, currency, provider_time, fact, named_order_id, order_id,
    outcome, deadline, next_attempt_at, created_at, updated_at
)
VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, now() + $14::double precision * interval '1 second',
    CASE WHEN $13 IN ('pending', 'parked') THEN now() + interval '1 second' END, now(), now()
)
ON CONFLICT (org_id, provider, fact_key) DO NOTHING
RETURNING fact_key
