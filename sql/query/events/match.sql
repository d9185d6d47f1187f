-- The order of a fact that waited for one is known: it is applied soon, whatever time it had been put off to.
--
-- $1 org_id, $2 provider, $3 fact_key, $4 order_id
UPDATE events
SET order_id = $4, outcome = 'pending', attempts = 0, next_attempt_at = least(next_attempt_at, now() + interval '1 second'),
    updated_at = now()
WHERE org_id = $1 AND provider = $2 AND fact_key = $3 AND outcome = 'parked' AND order_id IS NULL
