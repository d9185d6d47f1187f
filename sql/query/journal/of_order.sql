-- An order's story, oldest first. Entry ids are made under the order's lock, so their order is that of the commits; `at`
-- is when each transaction began.
--
-- $1 org_id, $2 order_id, $3 limit
SELECT entry_id, at, actor, what, details
FROM journal
WHERE org_id = $1 AND order_id = $2
ORDER BY entry_id
LIMIT $3::bigint
