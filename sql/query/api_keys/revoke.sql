-- Ends a key. The first revocation's time stands; a second changes nothing and still finds the key.
--
-- $1 org_id, $2 key_id
UPDATE api_keys
SET revoked_at = coalesce(revoked_at, now())
WHERE org_id = $1 AND key_id = $2
RETURNING revoked_at
