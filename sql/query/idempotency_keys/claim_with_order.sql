-- The claim, the order and the answer to store, in one autocommit statement: either all three exist or none.
--
-- A concurrent claim of the same key makes this one wait on the unique index until the other transaction ends, at most
-- for lock_timeout; then it inserts nothing. No row returned means: the key is taken, or the order reference is (the
-- caller reads which). A reference taken by a transaction that commits in this very moment is unique_violation (23505)
-- on orders, and undoes the claim with it.
--
-- $1 org_id, $2 idempotency_key, $3 fingerprint_version, $4 request_sha256, $5 order_id, $6 response_status,
-- $7 response_headers, $8 response_body, $9 seconds the key is kept (null: for ever), $10 order_reference,
-- $11 customer_reference, $12 currency, $13 amount, $14 status, $15 request, $16 created_at
WITH claim AS (
    INSERT INTO idempotency_keys (
        org_id, idempotency_key, fingerprint_version, request_sha256, state, order_id,
        response_status, response_headers, response_body, created_at, completed_at, expires_at
    )
    SELECT
        $1::bigint, $2::text, $3::smallint, $4::bytea, 'completed', $5::uuid,
        $6::smallint, $7::jsonb, $8::bytea, now(), now(), now() + $9::bigint * interval '1 second'
    WHERE $10::text IS NULL
        OR NOT EXISTS (SELECT FROM orders WHERE org_id = $1 AND order_reference = $10)
    ON CONFLICT (org_id, idempotency_key) DO NOTHING
    RETURNING org_id, order_id, expires_at
), placed AS (
    INSERT INTO orders (
        org_id, order_id, order_reference, customer_reference, currency, amount, status, request, created_at, updated_at
    )
    SELECT org_id, order_id, $10, $11::text, $12::text, $13::bigint, $14::text, $15::text, $16::timestamptz, $16
    FROM claim
)
SELECT order_id, expires_at FROM claim
