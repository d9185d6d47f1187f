-- Notes, before the call, that an effect is sent (again), and the first time to whom. No row: the lease is somebody else's by
-- now, and nothing may be sent.
--
-- $1 org_id, $2 order_id, $3 kind, $4 fact, $5 lease_token, $6 hash of the target (null: it is noted elsewhere)
UPDATE operations
SET target_sha256 = CASE WHEN first_sent_at IS NULL THEN $6::bytea ELSE target_sha256 END,
    first_sent_at = coalesce(first_sent_at, now()), last_sent_at = now()
WHERE org_id = $1 AND order_id = $2 AND kind = $3 AND fact = $4
    AND state = 'leased' AND lease_token = $5 AND lease_until > now()
