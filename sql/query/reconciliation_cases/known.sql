-- Whether a person has this already: a case about the effect is open, or one with the same evidence of the other side was
-- decided. The order is locked, so nobody opens one meanwhile.
--
-- $1 org_id, $2 order_id, $3 kind, $4 fact, $5 reason, $6 what the other side says
SELECT count(*) AS known
FROM reconciliation_cases
WHERE org_id = $1 AND order_id = $2 AND kind = $3 AND fact = $4
    AND (state = 'open' OR (reason = $5 AND evidence -> 'theirs' = $6::jsonb))
