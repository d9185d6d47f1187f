-- exempt: many look-ups of many organisations in one statement; each row is found by its own org_id and key together.
--
-- $1 org_id, $2 idempotency_key: one array each, of the same length. `place` is the place in them, from 1.
SELECT
    wanted.place, found.fingerprint_version, found.request_sha256, found.state, found.order_id, found.attempt,
    found.response_status, found.response_headers, found.response_body,
    found.created_at, found.completed_at, found.expires_at,
    charge.state AS work_state, charge.attempts AS work_attempts, charge.lease_token AS work_lease_token,
    charge.lease_until AS work_lease_until, charge.next_attempt_at AS work_next_attempt_at, now() AS now
FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS wanted (org_id, idempotency_key, place)
JOIN idempotency_keys found
    ON found.org_id = wanted.org_id AND found.idempotency_key = wanted.idempotency_key
LEFT JOIN operations charge
    ON charge.org_id = found.org_id
    AND charge.order_id = found.order_id
    AND charge.kind = 'charge'
    AND charge.fact = found.attempt::text
