-- Effects of one organisation that are due, for a worker that has room for so many. Not locked: each is taken by its own
-- statement, which decides.
--
-- $1 org_id, $2 limit, $3 kinds that are left out, since whoever carries them out does not answer now
SELECT order_id, kind, fact
FROM operations
WHERE org_id = $1
    AND state IN ('ready', 'leased', 'retry_at', 'unknown')
    AND coalesce(lease_until, next_attempt_at) <= now()
    AND kind <> ALL ($3::text[])
ORDER BY coalesce(lease_until, next_attempt_at)
LIMIT $2::bigint
