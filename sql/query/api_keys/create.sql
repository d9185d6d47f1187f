-- A key for an organisation that exists; no row when it does not. The mode returned becomes part of the token.
--
-- $1 org_id, $2 key_id, $3 secret_sha256, $4 scopes, $5 expires_at
WITH org AS (
    SELECT org_id, mode FROM orgs WHERE org_id = $1
), made AS (
    INSERT INTO api_keys (org_id, key_id, secret_sha256, scopes, expires_at)
    SELECT org_id, $2::text, $3::bytea, $4::text[], $5::timestamptz FROM org
)
SELECT mode FROM org
