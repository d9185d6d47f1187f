-- exempt: an operator's check whether every stored secret can still be opened; shows none of them.
SELECT org_id, kind, secret_sealed
FROM step_policies
WHERE secret_sealed IS NOT NULL
ORDER BY org_id, kind
