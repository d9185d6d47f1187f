-- What was given back of one attempt by us, or at the gateway as far as a sweep has booked it.
--
-- $1 org_id, $2 order_id, $3 fact of ours: the attempt
SELECT operation_key, external_reference, amount
FROM operations
WHERE org_id = $1 AND order_id = $2 AND kind = 'refund' AND state = 'done'
    AND (fact = $3 OR operation_key LIKE 'made-there-' || $3 || '-%')
