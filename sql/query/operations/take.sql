-- Takes one effect for this process, if it is due or its holder's lease has ended: new token, new lease, one attempt more.
-- No row: somebody else has it, or it is finished.
--
-- $1 org_id, $2 order_id, $3 kind, $4 fact, $5 lease_token, $6 lease in seconds
UPDATE operations
SET state = 'leased', lease_token = $5::uuid, lease_until = now() + $6::double precision * interval '1 second',
    attempts = attempts + 1, next_attempt_at = NULL, updated_at = now()
WHERE org_id = $1 AND order_id = $2 AND kind = $3 AND fact = $4
    AND state IN ('ready', 'leased', 'retry_at', 'unknown')
    AND coalesce(lease_until, next_attempt_at) <= now()
RETURNING order_id
