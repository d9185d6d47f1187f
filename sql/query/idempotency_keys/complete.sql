-- Stores the answers of claims that are in progress. Once completed one never changes, and is not returned. An answer that comes
-- late is kept for most of a day all the same, so that whoever asked all the time gets it. Order and attempt are compared, too: a
-- key that was removed after its time may be another request's by now, and this is no answer to that one.
--
-- $1 org_id, $2 idempotency_keys, $3 order_ids, $4 attempts, $5 response_status, $6 response_headers and $7 response_body of each
UPDATE idempotency_keys
SET state = 'completed', response_status = answer.status, response_headers = answer.headers, response_body = answer.body,
    completed_at = now(),
    expires_at = greatest(expires_at, CASE WHEN expires_at IS NOT NULL THEN now() + interval '23 hours' END)
FROM unnest($2::text[], $3::uuid[], $4::integer[], $5::smallint[], $6::jsonb[], $7::bytea[])
    AS answer (key, order_id, attempt, status, headers, body)
WHERE idempotency_keys.org_id = $1 AND idempotency_keys.idempotency_key = answer.key
    AND idempotency_keys.order_id = answer.order_id AND idempotency_keys.attempt IS NOT DISTINCT FROM answer.attempt
    AND idempotency_keys.state = 'in_progress'
RETURNING idempotency_keys.idempotency_key
