-- exempt: an operator's check whether every stored secret can still be opened; shows none of them.
SELECT org_id, endpoint_id, label, secret_sealed
FROM webhook_secrets
ORDER BY org_id, endpoint_id, label
