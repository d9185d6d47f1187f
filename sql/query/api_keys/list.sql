-- The keys of one organisation, newest first; never anything of the secret.
--
-- $1 org_id
SELECT key_id, scopes, created_at, expires_at, revoked_at, last_used_at
FROM api_keys
WHERE org_id = $1
ORDER BY created_at DESC, key_id
