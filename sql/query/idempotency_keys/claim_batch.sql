-- exempt: many claims of many organisations in one statement. Each row carries its org_id from the key of its own request,
-- and every comparison of a row is within that organisation.
--
-- The same as claim_with_order.sql for each row: claim, order and stored answer together or not at all. The rows come sorted
-- by (org_id, idempotency_key), so that two batches wait for each other in one order and cannot deadlock on keys. A key
-- that is there twice is won once.
--
-- $1 org_id, $2 idempotency_key, $3 fingerprint_version, $4 request_sha256, $5 order_id, $6 response_status,
-- $7 response_headers, $8 response_body, $9 seconds the key is kept, $10 order_reference, $11 customer_reference,
-- $12 currency, $13 amount, $14 status, $15 request, $16 created_at: one array each, of the same length
WITH wanted AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $1::bigint[], $2::text[], $3::smallint[], $4::bytea[], $5::uuid[], $6::smallint[], $7::jsonb[], $8::bytea[],
        $9::bigint[], $10::text[], $11::text[], $12::text[], $13::bigint[], $14::text[], $15::text[], $16::timestamptz[]
    ) AS wanted (
        org_id, idempotency_key, fingerprint_version, request_sha256, order_id, response_status, response_headers,
        response_body, kept_for_seconds, order_reference, customer_reference, currency, amount, status, request, created_at
    )
), claim AS (
    INSERT INTO idempotency_keys (
        org_id, idempotency_key, fingerprint_version, request_sha256, state, order_id,
        response_status, response_headers, response_body, created_at, completed_at, expires_at
    )
    SELECT
        org_id, idempotency_key, fingerprint_version, request_sha256, 'completed', order_id,
        response_status, response_headers, response_body, now(), now(), now() + kept_for_seconds * interval '1 second'
    FROM wanted
    WHERE order_reference IS NULL
        OR NOT EXISTS (
            SELECT FROM orders
            WHERE orders.org_id = wanted.org_id AND orders.order_reference = wanted.order_reference
        )
    ON CONFLICT (org_id, idempotency_key) DO NOTHING
    RETURNING order_id, expires_at
), placed AS (
    INSERT INTO orders (
        org_id, order_id, order_reference, customer_reference, currency, amount, status, request, created_at, updated_at
    )
    SELECT
        org_id, order_id, order_reference, customer_reference, currency, amount, status, request, created_at, created_at
    FROM wanted
    WHERE order_id IN (SELECT claim.order_id FROM claim)
)
SELECT order_id, expires_at FROM claim
