-- Facts of one organisation that are not applied yet and whose time has come: first those of orders that are here. Not locked:
-- each is taken by its own statement, which decides.
--
-- $1 org_id, $2 limit
(
    SELECT provider, fact_key
    FROM events
    WHERE org_id = $1 AND outcome = 'pending' AND next_attempt_at <= now()
    ORDER BY next_attempt_at
    LIMIT $2::bigint
)
UNION ALL
(
    SELECT provider, fact_key
    FROM events
    WHERE org_id = $1 AND outcome = 'parked' AND next_attempt_at <= now()
    ORDER BY next_attempt_at
    LIMIT $2
)
LIMIT $2
