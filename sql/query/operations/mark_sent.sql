-- Notes, before the call, that an effect is sent (again). No row: the lease is somebody else's by now, and nothing may be sent.
--
-- $1 org_id, $2 order_id, $3 kind, $4 fact, $5 lease_token
UPDATE operations
SET first_sent_at = coalesce(first_sent_at, now()), last_sent_at = now()
WHERE org_id = $1 AND order_id = $2 AND kind = $3 AND fact = $4
    AND state = 'leased' AND lease_token = $5 AND lease_until > now()
