-- A case for an effect. One that is open already stays the one, and tells the newest evidence.
--
-- $1 org_id, $2 case_id, $3 order_id, $4 kind, $5 fact, $6 reason, $7 owner, $8 corrector, $9 suggestion, $10 evidence,
-- $11 hours by which it should be decided
INSERT INTO reconciliation_cases (
    org_id, case_id, order_id, kind, fact, reason, state, owner, corrector, suggestion, evidence, opened_at, deadline
)
VALUES ($1, $2, $3, $4, $5, $6, 'open', $7, $8, $9, $10, now(), now() + $11::integer * interval '1 hour')
ON CONFLICT (org_id, order_id, kind, fact) WHERE state = 'open' DO UPDATE
SET reason = excluded.reason, suggestion = excluded.suggestion, evidence = excluded.evidence
