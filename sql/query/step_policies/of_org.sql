-- The policies of an organisation's steps, and how far its calls may reach.
--
-- $1 org_id
SELECT
    step_policies.kind, step_policies.url, step_policies.honours_keys, step_policies.status_url,
    step_policies.secret_sealed, step_policies.owner, step_policies.corrector, step_policies.max_attempts,
    step_policies.deadline_seconds, orgs.mode
FROM step_policies, orgs
WHERE step_policies.org_id = $1 AND orgs.org_id = $1
