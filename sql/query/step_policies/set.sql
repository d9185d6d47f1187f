-- What is to be done for the confirmed orders of an organisation. Orders that are confirmed from now on get the step. A secret
-- that is there stays unless another one comes.
--
-- $1 org_id, $2 kind, $3 url, $4 honours_keys, $5 status_url, $6 secret_sealed, $7 owner, $8 corrector, $9 max_attempts,
-- $10 deadline_seconds
INSERT INTO step_policies (
    org_id, kind, url, honours_keys, status_url, secret_sealed, owner, corrector, max_attempts, deadline_seconds
)
SELECT org_id, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM orgs WHERE org_id = $1
ON CONFLICT (org_id, kind) DO UPDATE
SET url = excluded.url, honours_keys = excluded.honours_keys, status_url = excluded.status_url,
    secret_sealed =
        CASE WHEN excluded.secret_sealed IS NULL THEN step_policies.secret_sealed ELSE excluded.secret_sealed END,
    owner = excluded.owner, corrector = excluded.corrector,
    max_attempts = excluded.max_attempts, deadline_seconds = excluded.deadline_seconds, updated_at = now()
RETURNING kind
