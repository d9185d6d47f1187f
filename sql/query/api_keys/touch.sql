-- Notes that a key was used; written in the background, at most once a minute for each key and process.
--
-- $1 org_id, $2 key_id, $3 last_used_at
UPDATE api_keys
SET last_used_at = greatest(last_used_at, $3::timestamptz)
WHERE org_id = $1 AND key_id = $2
