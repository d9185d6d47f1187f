-- Lets a secret count for so long, and then no more. One that is retiring already does not get more time.
--
-- $1 org_id, $2 endpoint_id, $3 label, $4 seconds
UPDATE webhook_secrets
SET state = 'retiring', retires_at = least(retires_at, now() + $4::double precision * interval '1 second')
WHERE org_id = $1 AND endpoint_id = $2 AND label = $3
RETURNING retires_at
