-- The claim of an order with a payment: claim (in progress), order, attempt 1 and its charge, leased to the asking
-- process, in one autocommit statement. Only after it is committed may the gateway be called.
--
-- Like claim_with_order.sql, it waits for a concurrent claim of the same key, and returns no row when the key or the order
-- reference is taken. The lease is set by the database's clock.
--
-- $1 org_id, $2 idempotency_key, $3 fingerprint_version, $4 request_sha256, $5 order_id, $6 seconds the key is kept (null:
-- for ever), $7 order_reference, $8 customer_reference, $9 currency, $10 amount, $11 status, $12 request, $13 created_at,
-- $14 provider, $15 method_sealed, $16 operation_key, $17 lease_token, $18 lease in seconds, $19 seconds until its time is up,
-- $20 gateway_sha256
WITH claim AS (
    INSERT INTO idempotency_keys (
        org_id, idempotency_key, fingerprint_version, request_sha256, state, order_id, attempt, created_at, expires_at
    )
    SELECT
        $1::bigint, $2::text, $3::smallint, $4::bytea, 'in_progress', $5::uuid, 1, now(),
        now() + $6::bigint * interval '1 second'
    WHERE $7::text IS NULL
        OR NOT EXISTS (SELECT FROM orders WHERE org_id = $1 AND order_reference = $7)
    ON CONFLICT (org_id, idempotency_key) DO NOTHING
    RETURNING org_id, order_id, expires_at
), placed AS (
    INSERT INTO orders (
        org_id, order_id, order_reference, customer_reference, currency, amount, status, request,
        payment_attempt, payment_provider, payment_state, steps, created_at, updated_at
    )
    SELECT
        org_id, order_id, $7, $8::text, $9::text, $10::bigint, $11::text, $12::text,
        1, $14::text, 'processing', ARRAY['charge=leased'], $13::timestamptz, $13
    FROM claim
), attempted AS (
    INSERT INTO payments (
        org_id, order_id, attempt, provider, method_sealed, gateway_sha256, amount, currency, state, created_at, updated_at
    )
    SELECT org_id, order_id, 1, $14, $15::bytea, $20::bytea, $10, $9, 'processing', $13, $13
    FROM claim
), leased AS (
    INSERT INTO operations (
        org_id, order_id, kind, fact, state, operation_key, amount, idempotency_key, attempts, deadline_at,
        lease_token, lease_until, first_sent_at, last_sent_at, created_at, updated_at
    )
    SELECT
        org_id, order_id, 'charge', '1', 'leased', $16::text, $10, $2, 1, now() + $19::double precision * interval '1 second',
        $17::uuid, now() + $18::double precision * interval '1 second', now(), now(), $13, $13
    FROM claim
)
SELECT expires_at FROM claim
