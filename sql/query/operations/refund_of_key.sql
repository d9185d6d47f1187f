-- Which of our refunds goes by a key of ours, or by the gateway's name for it. What was made at the gateway, past us, and only booked
-- here is none of them.
--
-- $1 org_id, $2 order_id, $3 operation_key, $4 external_reference (null either: not known)
SELECT fact
FROM operations
WHERE org_id = $1 AND order_id = $2 AND kind = 'refund' AND (operation_key = $3::text OR external_reference = $4::text)
    AND operation_key NOT LIKE 'made-there-%'
ORDER BY operation_key = $3 DESC NULLS LAST
LIMIT 1
