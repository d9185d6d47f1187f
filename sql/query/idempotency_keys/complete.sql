-- Stores the answer of a claim that is in progress. Once completed it never changes: no row then. An answer that comes late
-- is kept for most of a day all the same, so that whoever asked all the time gets it.
--
-- $1 org_id, $2 idempotency_key, $3 response_status, $4 response_headers, $5 response_body
UPDATE idempotency_keys
SET state = 'completed', response_status = $3, response_headers = $4, response_body = $5, completed_at = now(),
    expires_at = greatest(expires_at, CASE WHEN expires_at IS NOT NULL THEN now() + interval '23 hours' END)
WHERE org_id = $1 AND idempotency_key = $2 AND state = 'in_progress'
