-- The secrets of one endpoint; a row without a label where there is none, no row without the endpoint.
--
-- $1 org_id, $2 endpoint_id
SELECT webhook_secrets.label, webhook_secrets.secret_sealed
FROM webhook_endpoints
LEFT JOIN webhook_secrets
    ON webhook_secrets.org_id = $1
    AND webhook_secrets.endpoint_id = webhook_endpoints.endpoint_id
WHERE webhook_endpoints.org_id = $1 AND webhook_endpoints.endpoint_id = $2
ORDER BY webhook_secrets.label
