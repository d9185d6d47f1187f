-- Stores the answers of claims that are in progress. Once completed one never changes, and is not returned. An answer that comes
-- late is kept for most of a day all the same, so that whoever asked all the time gets it.
--
-- $1 org_id, $2 idempotency_keys, $3 response_status, $4 response_headers and $5 response_body of each
UPDATE idempotency_keys
SET state = 'completed', response_status = answer.status, response_headers = answer.headers, response_body = answer.body,
    completed_at = now(),
    expires_at = greatest(expires_at, CASE WHEN expires_at IS NOT NULL THEN now() + interval '23 hours' END)
FROM unnest($2::text[], $3::smallint[], $4::jsonb[], $5::bytea[]) AS answer (key, status, headers, body)
WHERE idempotency_keys.org_id = $1 AND idempotency_keys.idempotency_key = answer.key
    AND idempotency_keys.state = 'in_progress'
RETURNING idempotency_keys.idempotency_key
