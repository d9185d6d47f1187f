-- Writes a person's decision into an open case, under its order's lock. No row: it is resolved already.
--
-- $1 org_id, $2 case_id, $3 decision, $4 decided_by, $5 reason_given, $6 proof
UPDATE reconciliation_cases
SET state = 'resolved', decision = $3, decided_by = $4, reason_given = $5, proof = $6, resolved_at = now()
WHERE org_id = $1 AND case_id = $2 AND state = 'open'
