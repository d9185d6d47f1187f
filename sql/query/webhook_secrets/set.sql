-- A secret of an endpoint, from now on active: new, or one that was retiring.
--
-- $1 org_id, $2 endpoint_id, $3 label, $4 secret_sealed
INSERT INTO webhook_secrets (org_id, endpoint_id, label, secret_sealed, state)
VALUES ($1, $2, $3, $4, 'active')
ON CONFLICT (org_id, endpoint_id, label) DO UPDATE
SET secret_sealed = excluded.secret_sealed, state = 'active', retires_at = NULL
