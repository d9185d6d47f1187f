-- An order's story, oldest first. Entry ids are made under the order's lock, so their order is that of the commits, as far as the
-- servers' clocks agree; `at` is when each transaction began, which may be long before it had the lock.
--
-- $1 org_id, $2 order_id, $3 limit
SELECT entry_id, at, actor, what, details
FROM journal
WHERE org_id = $1 AND order_id = $2
ORDER BY entry_id
LIMIT $3::bigint
