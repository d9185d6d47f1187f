-- Writes what came of a fact, under its lock. One that waits is looked at again at its time.
--
-- $1 org_id, $2 provider, $3 fact_key, $4 outcome, $5 reason, $6 order_id
UPDATE events
SET outcome = $4, reason = $5, order_id = coalesce($6::uuid, order_id),
    next_attempt_at = CASE WHEN $4 IN ('pending', 'parked') THEN coalesce(next_attempt_at, now()) END,
    updated_at = now()
WHERE org_id = $1 AND provider = $2 AND fact_key = $3 AND outcome IN ('pending', 'parked')
