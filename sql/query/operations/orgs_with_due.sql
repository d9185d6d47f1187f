-- exempt: lists organisations, without a lock; each is then worked on by its own statements.
-- From each organisation with work the partial index leads to the next one; whether any of it is due takes one probe, however
-- much is not.
WITH RECURSIVE working AS (
    (
        SELECT org_id FROM operations
        WHERE state IN ('leased', 'retry_at', 'unknown')
            OR state = 'ready' AND (first_sent_at IS NOT NULL OR fact <> '')
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
        ORDER BY operations.org_id
        LIMIT 1
    )
    FROM working
    WHERE working.org_id IS NOT NULL
),

never_sent AS (
    (
        SELECT org_id FROM operations
        WHERE state = 'ready' AND first_sent_at IS NULL AND fact = ''
        ORDER BY org_id
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT operations.org_id FROM operations
        WHERE operations.org_id > never_sent.org_id
            AND state = 'ready' AND first_sent_at IS NULL AND fact = ''
        ORDER BY operations.org_id
        LIMIT 1
    )
    FROM never_sent
    WHERE never_sent.org_id IS NOT NULL
)

SELECT org_id FROM working
WHERE (
    SELECT true FROM operations
    WHERE operations.org_id = working.org_id
        AND (
            state IN ('leased', 'retry_at', 'unknown')
            OR state = 'ready' AND (first_sent_at IS NOT NULL OR fact <> '')
        )
        AND coalesce(lease_until, next_attempt_at) <= now()
    LIMIT 1
)
UNION
SELECT org_id FROM never_sent
WHERE (
    SELECT true FROM operations
    WHERE operations.org_id = never_sent.org_id
        AND state = 'ready' AND first_sent_at IS NULL AND fact = '' AND next_attempt_at <= now()
    LIMIT 1
)
