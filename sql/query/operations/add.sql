-- A new effect. Nothing when it is there already: an effect is asked for once.
--
-- $1 org_id, $2 order_id, $3 kind, $4 fact, $5 state, $6 operation_key, $7 amount, $8 idempotency_key,
-- $9 seconds until its time is up, $10 lease_token, $11 lease in seconds (null both: it is due now, unless
-- it waits for others)
INSERT INTO operations (
    org_id, order_id, kind, fact, state, operation_key, amount, idempotency_key, attempts, next_attempt_at, deadline_at,
    lease_token, lease_until, first_sent_at, last_sent_at, created_at, updated_at
)
VALUES (
    $1, $2, $3, $4, $5, $6, $7, $8, CASE WHEN $10::uuid IS NULL THEN 0 ELSE 1 END,
    CASE WHEN $10 IS NULL AND $5 <> 'waiting' THEN now() END, now() + $9::double precision * interval '1 second',
    $10, now() + $11::double precision * interval '1 second',
    CASE WHEN $10 IS NOT NULL THEN now() END, CASE WHEN $10 IS NOT NULL THEN now() END, now(), now()
)
ON CONFLICT (org_id, order_id, kind, fact) DO NOTHING
