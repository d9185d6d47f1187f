-- The steps of an organisation's orders, inside the transaction that confirms one.
--
-- $1 org_id
SELECT kind, deadline_seconds, owner, corrector FROM step_policies WHERE org_id = $1
