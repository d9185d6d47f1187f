-- Stores the answer of a claim that is in progress. Once completed it never changes.
--
-- $1 org_id, $2 idempotency_key, $3 response_status, $4 response_headers, $5 response_body
UPDATE idempotency_keys
SET state = 'completed', response_status = $3, response_headers = $4, response_body = $5, completed_at = now()
WHERE org_id = $1 AND idempotency_key = $2 AND state = 'in_progress'
