-- Takes one fact that is due for this process, by putting its next time off: 1 s, 2 s, 4 s … 5 min. No row: somebody else
-- has it, or it is settled.
--
-- $1 org_id, $2 provider, $3 fact_key
UPDATE events
SET attempts = attempts + 1, next_attempt_at = now() + least(300, 2 ^ least(attempts, 9)) * interval '1 second'
WHERE org_id = $1 AND provider = $2 AND fact_key = $3 AND next_attempt_at <= now()
RETURNING fact_key
