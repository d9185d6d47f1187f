-- The charge of an attempt that we did not make ourselves. It counts as sent, by somebody: it is never sent by us, and looked
-- up by its reference if it has to be asked about.
--
-- $1 org_id, $2 order_id, $3 fact, $4 operation_key, $5 external_reference, $6 seconds until its time is up
INSERT INTO operations (
    org_id, order_id, kind, fact, state, operation_key, amount, next_attempt_at, deadline_at, external_reference,
    first_sent_at, last_sent_at, look_only, created_at, updated_at
)
SELECT
    org_id, order_id, 'charge', $3, 'unknown', $4, amount, now(), now() + $6::double precision * interval '1 second', $5::text,
    now(), now(), true, now(), now()
FROM orders
WHERE org_id = $1 AND order_id = $2
