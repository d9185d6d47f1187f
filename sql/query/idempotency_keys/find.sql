-- Everything a retry needs, by the primary key.
--
-- $1 org_id, $2 idempotency_key
SELECT
    fingerprint_version, request_sha256, state, order_id,
    response_status, response_headers, response_body, created_at, completed_at, expires_at
FROM idempotency_keys
WHERE org_id = $1 AND idempotency_key = $2
