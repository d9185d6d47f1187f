-- exempt: a delivery names its endpoint, and the endpoint names the organisation.
-- An endpoint with every secret that still counts; one row without a label when there is none. A plain read, which waits for
-- nobody.
--
-- $1 endpoint_id
SELECT
    webhook_endpoints.org_id, webhook_endpoints.provider, orgs.mode, webhook_secrets.label, webhook_secrets.secret_sealed
FROM webhook_endpoints
JOIN orgs ON orgs.org_id = webhook_endpoints.org_id
LEFT JOIN webhook_secrets
    ON webhook_secrets.org_id = webhook_endpoints.org_id
    AND webhook_secrets.endpoint_id = webhook_endpoints.endpoint_id
    AND (webhook_secrets.state = 'active' OR webhook_secrets.retires_at > now())
WHERE webhook_endpoints.endpoint_id = $1
ORDER BY webhook_secrets.created_at DESC, webhook_secrets.label
