-- exempt: how organisations reach their gateways, for payments of several at once. Each row carries its org_id, and a payment gets
-- that of its own organisation.
--
-- $1 org_ids
SELECT gateways.org_id, gateways.provider, gateways.api_base, gateways.secret_sealed, orgs.mode
FROM gateways
JOIN orgs ON orgs.org_id = gateways.org_id
WHERE gateways.org_id = ANY ($1::bigint[])
