-- Which of our refunds goes by a key.
--
-- $1 org_id, $2 order_id, $3 operation_key
SELECT fact
FROM operations
WHERE org_id = $1 AND order_id = $2 AND kind = 'refund' AND operation_key = $3
