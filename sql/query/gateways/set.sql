-- How an organisation reaches its gateway. Running servers read it with each payment, so a change holds at once.
--
-- $1 org_id, $2 provider, $3 api_base, $4 secret_sealed
INSERT INTO gateways (org_id, provider, api_base, secret_sealed)
SELECT org_id, $2, $3, $4 FROM orgs WHERE org_id = $1
ON CONFLICT (org_id, provider) DO UPDATE
SET api_base = excluded.api_base, secret_sealed = excluded.secret_sealed, updated_at = now()
RETURNING provider
