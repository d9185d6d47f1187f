-- exempt: lists organisations, without a lock; each is then worked on by its own statements.
-- One probe of each partial index for each organisation that has work, however many others there are.
WITH RECURSIVE working AS (
    (
        SELECT org_id FROM operations
        WHERE (
                state IN ('leased', 'retry_at', 'unknown')
                OR state = 'ready' AND (first_sent_at IS NOT NULL OR fact <> '')
            )
            AND coalesce(lease_until, next_attempt_at) <= now()
        ORDER BY org_id
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT operations.org_id FROM operations
        WHERE operations.org_id > working.org_id
            AND (
                state IN ('leased', 'retry_at', 'unknown')
                OR state = 'ready' AND (first_sent_at IS NOT NULL OR fact <> '')
            )
            AND coalesce(lease_until, next_attempt_at) <= now()
        ORDER BY operations.org_id
        LIMIT 1
    )
    FROM working
    WHERE working.org_id IS NOT NULL
),

never_sent AS (
    (
        SELECT org_id FROM operations
        WHERE state = 'ready' AND first_sent_at IS NULL AND fact = '' AND next_attempt_at <= now()
        ORDER BY org_id
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT operations.org_id FROM operations
        WHERE operations.org_id > never_sent.org_id
            AND state = 'ready' AND first_sent_at IS NULL AND fact = '' AND next_attempt_at <= now()
        ORDER BY operations.org_id
        LIMIT 1
    )
    FROM never_sent
    WHERE never_sent.org_id IS NOT NULL
)

SELECT org_id FROM working WHERE org_id IS NOT NULL
UNION
SELECT org_id FROM never_sent WHERE org_id IS NOT NULL
