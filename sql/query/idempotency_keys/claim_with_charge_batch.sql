-- exempt: many claims of many organisations in one statement. Each row carries its org_id from the key of its own request,
-- and every comparison of a row is within that organisation.
--
-- The same as claim_with_charge.sql for each row: claim, order, attempt 1 and its leased charge together or not at all. The
-- rows come sorted by (org_id, idempotency_key), as in claim_batch.sql.
--
-- $1 org_id, $2 idempotency_key, $3 fingerprint_version, $4 request_sha256, $5 order_id, $6 seconds the key is kept (null:
-- for ever), $7 order_reference, $8 customer_reference, $9 currency, $10 amount, $11 status, $12 request, $13 created_at,
-- $14 provider, $15 method_sealed, $16 operation_key, $17 lease_token, $18 lease in seconds, $19 seconds until its time is up,
-- $20 gateway_sha256: one array each, of the same length
WITH wanted AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $1::bigint[], $2::text[], $3::smallint[], $4::bytea[], $5::uuid[], $6::bigint[], $7::text[], $8::text[], $9::text[],
        $10::bigint[], $11::text[], $12::text[], $13::timestamptz[], $14::text[], $15::bytea[], $16::text[], $17::uuid[],
        $18::double precision[], $19::double precision[], $20::bytea[]
    ) AS wanted (
        org_id, idempotency_key, fingerprint_version, request_sha256, order_id, kept_for_seconds, order_reference,
        customer_reference, currency, amount, status, request, created_at, provider, method_sealed, operation_key,
        lease_token, lease_seconds, time_seconds, gateway_sha256
    )
), claim AS (
    INSERT INTO idempotency_keys (
        org_id, idempotency_key, fingerprint_version, request_sha256, state, order_id, attempt, created_at, expires_at
    )
    SELECT
        org_id, idempotency_key, fingerprint_version, request_sha256, 'in_progress', order_id, 1, now(),
        now() + kept_for_seconds * interval '1 second'
    FROM wanted
    WHERE order_reference IS NULL
        OR NOT EXISTS (
            SELECT FROM orders
            WHERE orders.org_id = wanted.org_id AND orders.order_reference = wanted.order_reference
        )
    ON CONFLICT (org_id, idempotency_key) DO NOTHING
    RETURNING order_id, expires_at
), won AS MATERIALIZED (
    SELECT * FROM wanted WHERE order_id IN (SELECT claim.order_id FROM claim)
), placed AS (
    INSERT INTO orders (
        org_id, order_id, order_reference, customer_reference, currency, amount, status, request,
        payment_attempt, payment_provider, payment_state, steps, created_at, updated_at
    )
    SELECT
        org_id, order_id, order_reference, customer_reference, currency, amount, status, request,
        1, provider, 'processing', ARRAY['charge=leased'], created_at, created_at
    FROM won
), attempted AS (
    INSERT INTO payments (
        org_id, order_id, attempt, provider, method_sealed, gateway_sha256, amount, currency, state, created_at, updated_at
    )
    SELECT org_id, order_id, 1, provider, method_sealed, gateway_sha256, amount, currency, 'processing', created_at, created_at
    FROM won
), leased AS (
    INSERT INTO operations (
        org_id, order_id, kind, fact, state, operation_key, amount, idempotency_key, attempts, deadline_at,
        lease_token, lease_until, first_sent_at, last_sent_at, created_at, updated_at
    )
    SELECT
        org_id, order_id, 'charge', '1', 'leased', operation_key, amount, idempotency_key, 1,
        now() + time_seconds * interval '1 second', lease_token, now() + lease_seconds * interval '1 second',
        now(), now(), created_at, created_at
    FROM won
)
SELECT order_id, expires_at FROM claim
