-- Effects of one organisation that are due, for a worker that has room for so many. Not locked: each is taken by its own
-- statement, which decides. Steps that were never sent are left to `take_first.sql`.
--
-- $1 org_id, $2 limit, $3 kinds that are left out, since whoever carries them out does not answer now
SELECT order_id, kind, fact
FROM operations
WHERE org_id = $1
    AND (state IN ('leased', 'retry_at', 'unknown') OR state = 'ready' AND (first_sent_at IS NOT NULL OR fact <> ''))
    AND coalesce(lease_until, next_attempt_at) <= now()
    AND kind <> ALL ($3::text[])
ORDER BY coalesce(lease_until, next_attempt_at)
LIMIT $2::bigint
