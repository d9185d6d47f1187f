-- What we ourselves have given back of one attempt.
--
-- $1 org_id, $2 order_id, $3 fact
SELECT operation_key, external_reference, amount
FROM operations
WHERE org_id = $1 AND order_id = $2 AND kind = 'refund' AND fact = $3 AND state = 'done'
