-- exempt: the operator's list of all organisations.
SELECT org_id, name, mode, on_mismatch, replay_status, keys_kept_for_seconds, new_claims_per_second, created_at
FROM orgs
ORDER BY org_id
