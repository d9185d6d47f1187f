-- Effects of one organisation that are due, for a worker that has room for so many. Not locked: each is taken by its own
-- statement, which decides.
--
-- $1 org_id, $2 limit
SELECT order_id, kind, fact
FROM operations
WHERE org_id = $1
    AND state IN ('ready', 'leased', 'retry_at', 'unknown')
    AND coalesce(lease_until, next_attempt_at) <= now()
    AND kind IN ('charge', 'refund')
ORDER BY coalesce(lease_until, next_attempt_at)
LIMIT $2::bigint
