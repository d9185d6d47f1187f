-- Cases of an organisation, newest first, below the cursor.
--
-- $1 org_id, $2 case_id of the cursor, $3 limit, $4 state, $5 reason, $6 order_id
SELECT
    case_id, order_id, kind, fact, reason, state, owner, corrector, suggestion, evidence, opened_at, deadline,
    decision, decided_by, reason_given, proof, resolved_at
FROM reconciliation_cases
WHERE org_id = $1
    AND case_id < $2
    AND ($4::text IS NULL OR state = $4)
    AND ($5::text IS NULL OR reason = $5)
    AND ($6::uuid IS NULL OR order_id = $6)
ORDER BY case_id DESC
LIMIT $3::bigint
