-- Everything a retry needs: the claim by its primary key, and the charge it waits for, if one is at work. The rest of the
-- lease is judged by the database's clock.
--
-- $1 org_id, $2 idempotency_key
SELECT
    idempotency_keys.fingerprint_version, idempotency_keys.request_sha256, idempotency_keys.state, idempotency_keys.order_id, idempotency_keys.attempt,
    idempotency_keys.response_status, idempotency_keys.response_headers, idempotency_keys.response_body,
    idempotency_keys.created_at, idempotency_keys.completed_at, idempotency_keys.expires_at,
    operations.state AS work_state, operations.attempts AS work_attempts, operations.lease_token AS work_lease_token,
    operations.lease_until AS work_lease_until, operations.next_attempt_at AS work_next_attempt_at, now() AS now
FROM idempotency_keys
LEFT JOIN operations
    ON operations.org_id = $1
    AND operations.order_id = idempotency_keys.order_id
    AND operations.kind = 'charge'
    AND operations.fact = idempotency_keys.attempt::text
WHERE idempotency_keys.org_id = $1 AND idempotency_keys.idempotency_key = $2
