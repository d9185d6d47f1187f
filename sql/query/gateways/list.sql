-- exempt: an operator's check whether every stored secret can still be opened; shows none of them.
SELECT org_id, provider, secret_sealed
FROM gateways
ORDER BY org_id, provider
