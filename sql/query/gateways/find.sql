-- How an organisation reaches its gateway.
--
-- $1 org_id
SELECT gateways.provider, gateways.api_base, gateways.secret_sealed, orgs.mode
FROM gateways, orgs
WHERE gateways.org_id = $1 AND orgs.org_id = $1
