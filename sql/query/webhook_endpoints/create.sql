-- Makes an endpoint that a provider's notifications come to. No row: there is no such organisation.
--
-- $1 org_id, $2 endpoint_id, $3 provider
INSERT INTO webhook_endpoints (org_id, endpoint_id, provider)
SELECT org_id, $2, $3 FROM orgs WHERE org_id = $1
RETURNING endpoint_id
