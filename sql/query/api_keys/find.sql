-- exempt: a request names its key, and the key names the organisation.
-- A key with the policies of its organisation: all that authentication and the hot path need to know, in one read. A
-- key id is unique by its 95 random bits; the newest wins should two ever meet.
--
-- $1 key_id
SELECT
    api_keys.org_id, api_keys.secret_sha256, api_keys.scopes,
    (api_keys.revoked_at IS NOT NULL OR coalesce(api_keys.expires_at <= now(), false)) AS ended,
    orgs.mode, orgs.on_mismatch, orgs.replay_status, orgs.keys_kept_for_seconds, orgs.new_claims_per_second
FROM api_keys
JOIN orgs ON orgs.org_id = api_keys.org_id
WHERE api_keys.key_id = $1
ORDER BY api_keys.created_at DESC
LIMIT 1
