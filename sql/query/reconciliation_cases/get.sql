-- One case, by its primary key.
--
-- $1 org_id, $2 case_id
SELECT
    case_id, order_id, kind, fact, reason, state, owner, corrector, suggestion, evidence, opened_at, deadline,
    decision, decided_by, reason_given, proof, resolved_at
FROM reconciliation_cases
WHERE org_id = $1 AND case_id = $2
