-- New steps of orders that were just confirmed. Nothing where one is there already: a step is asked for once.
--
-- $1 org_id, $2 order_ids, $3 kinds, $4 states, $5 operation_keys, $6 seconds until the time of each is up
INSERT INTO operations (
    org_id, order_id, kind, fact, state, operation_key, attempts, next_attempt_at, deadline_at, created_at, updated_at
)
SELECT
    $1, order_id, kind, '', state, operation_key, 0, CASE WHEN state <> 'waiting' THEN now() END,
    now() + seconds * interval '1 second', now(), now()
FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::double precision[])
    AS step (order_id, kind, state, operation_key, seconds)
ON CONFLICT (org_id, order_id, kind, fact) DO NOTHING
