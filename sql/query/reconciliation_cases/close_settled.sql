-- Closes the open case of an effect that was settled by evidence after all.
--
-- $1 org_id, $2 order_id, $3 kind, $4 fact
UPDATE reconciliation_cases
SET state = 'resolved', decision = 'settled', decided_by = 'evidence', resolved_at = now()
WHERE org_id = $1 AND order_id = $2 AND kind = $3 AND fact = $4 AND state = 'open'
