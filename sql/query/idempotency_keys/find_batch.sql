-- exempt: many look-ups of many organisations in one statement; each row is found by its own org_id and key together.
--
-- $1 org_id, $2 idempotency_key: one array each, of the same length. `place` is the place in them, from 1.
SELECT
    wanted.place, found.fingerprint_version, found.request_sha256, found.state, found.order_id,
    found.response_status, found.response_headers, found.response_body,
    found.created_at, found.completed_at, found.expires_at
FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS wanted (org_id, idempotency_key, place)
JOIN idempotency_keys found
    ON found.org_id = wanted.org_id AND found.idempotency_key = wanted.idempotency_key
