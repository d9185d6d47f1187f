-- exempt: lists organisations, without a lock; each is then worked on by its own statements.
-- One probe of the partial index for each organisation that has work, however many others there are.
WITH RECURSIVE working AS (
    (
        SELECT org_id FROM operations
        WHERE state IN ('ready', 'leased', 'retry_at', 'unknown') AND coalesce(lease_until, next_attempt_at) <= now()
        ORDER BY org_id
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT operations.org_id FROM operations
        WHERE operations.org_id > working.org_id
            AND state IN ('ready', 'leased', 'retry_at', 'unknown')
            AND coalesce(lease_until, next_attempt_at) <= now()
        ORDER BY operations.org_id
        LIMIT 1
    )
    FROM working
    WHERE working.org_id IS NOT NULL
)
SELECT org_id FROM working WHERE org_id IS NOT NULL
