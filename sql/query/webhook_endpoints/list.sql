-- The endpoints of an organisation and what their secrets are called, in the order they were made; one row without a label
-- for an endpoint that has none.
--
-- $1 org_id
SELECT
    webhook_endpoints.endpoint_id, webhook_endpoints.provider, webhook_endpoints.created_at, webhook_secrets.label,
    CASE WHEN webhook_secrets.retires_at <= now() THEN 'retired' ELSE webhook_secrets.state END AS state,
    webhook_secrets.retires_at
FROM webhook_endpoints
LEFT JOIN webhook_secrets
    ON webhook_secrets.org_id = $1
    AND webhook_secrets.endpoint_id = webhook_endpoints.endpoint_id
WHERE webhook_endpoints.org_id = $1
ORDER BY webhook_endpoints.created_at, webhook_endpoints.endpoint_id, webhook_secrets.created_at, webhook_secrets.label
