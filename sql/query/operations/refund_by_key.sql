-- The refund that was asked for under a key, for comparing. Not locked.
--
-- $1 org_id, $2 operation_key
SELECT order_id, fact, state, amount, external_reference, coalesce(lease_until > now(), false) AS at_work
FROM operations
WHERE org_id = $1 AND operation_key = $2 AND kind = 'refund'
