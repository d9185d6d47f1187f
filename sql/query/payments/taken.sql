-- Attempts that took money at one gateway account, oldest first, by the index on time: what the gateway should know.
--
-- $1 org_id, $2 created_at, $3 order_id and $4 attempt of the cursor, $5 the moment before which they were made,
-- $6 gateway_sha256, $7 limit
SELECT created_at, order_id, attempt, gateway_reference
FROM payments
WHERE org_id = $1
    AND (created_at, order_id, attempt) > ($2::timestamptz, $3::uuid, $4::integer)
    AND created_at < $5::timestamptz
    AND gateway_sha256 = $6::bytea
    AND gateway_reference IS NOT NULL
    AND state IN ('succeeded', 'partially_refunded', 'refunded', 'disputed')
ORDER BY created_at, order_id, attempt
LIMIT $7::bigint
