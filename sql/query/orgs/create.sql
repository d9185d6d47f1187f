-- exempt: makes the organisation, so there is no org_id to name yet.
--
-- $1 name, $2 mode, $3 on_mismatch, $4 replay_status, $5 keys_kept_for_seconds, $6 new_claims_per_second
INSERT INTO orgs (name, mode, on_mismatch, replay_status, keys_kept_for_seconds, new_claims_per_second)
VALUES ($1, $2, $3, $4, $5, $6)
RETURNING org_id
