-- All cases of an organisation.
-- Newest first, below the cursor (the highest UUID for the first page). Each leading filter has a file of its own, so that
-- each has its own plan and index; the other filters are applied to the rows (null: any).
--
-- $1 org_id, $2 case_id of the cursor, $3 limit, $4 reason
SELECT
    case_id, order_id, kind, fact, reason, state, owner, corrector, suggestion, evidence, opened_at, deadline,
    decision, decided_by, reason_given, proof, resolved_at
FROM reconciliation_cases
WHERE org_id = $1
    AND case_id < $2
    AND ($4::text IS NULL OR reason = $4)
ORDER BY case_id DESC
LIMIT $3::bigint
