-- Claims a key for a command on an order that exists, inside the transaction that carries the command out. No row when
-- the key is taken.
--
-- $1 org_id, $2 idempotency_key, $3 fingerprint_version, $4 request_sha256, $5 order_id, $6 attempt (null: no charge waits),
-- $7 seconds the key is kept (null: for ever), $8 request
INSERT INTO idempotency_keys (
    org_id, idempotency_key, fingerprint_version, request_sha256, state, order_id, attempt, request, created_at, expires_at
)
VALUES (
    $1, $2, $3, $4, 'in_progress', $5, $6, $8, now(), now() + $7::bigint * interval '1 second'
)
ON CONFLICT (org_id, idempotency_key) DO NOTHING
RETURNING expires_at
