-- How many keys of one organisation a clean-up would remove now.
--
-- $1 org_id
SELECT count(*) AS keys
FROM idempotency_keys
WHERE org_id = $1 AND expires_at <= now() AND state = 'completed'
