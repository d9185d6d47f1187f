-- The order of a fact is known that waited for one, or that was given up as somebody else's: it is applied soon, whatever time it had
-- been put off to.
--
-- $1 org_id, $2 provider, $3 fact_key, $4 order_id
UPDATE events
SET order_id = $4, outcome = 'pending', reason = NULL, attempts = 0,
    next_attempt_at = least(next_attempt_at, now() + interval '1 second'), updated_at = now()
WHERE org_id = $1 AND provider = $2 AND fact_key = $3 AND order_id IS NULL
    AND (outcome = 'parked' OR outcome = 'ignored' AND reason = 'not_ours')
