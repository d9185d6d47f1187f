-- Takes one fact that is due for this process, by putting its next time off: 1 s, 2 s, 4 s … up to 30 s where the order is
-- known or named, 1 h for what may be somebody else's. No row: somebody else has it, or it is settled.
--
-- $1 org_id, $2 provider, $3 fact_key
UPDATE events
SET attempts = attempts + 1,
    next_attempt_at = now() + interval '1 second' * least(
        2 ^ least(attempts, 12),
        CASE WHEN order_id IS NOT NULL OR named_order_id IS NOT NULL THEN 30 ELSE 3600 END
    )
WHERE org_id = $1 AND provider = $2 AND fact_key = $3 AND next_attempt_at <= now()
RETURNING fact_key
