-- exempt: lists organisations, without a lock; each is then worked on by its own statements.
-- One probe of the partial index for each organisation that has facts which wait, however many others there are.
WITH RECURSIVE working AS (
    (
        SELECT org_id FROM events WHERE next_attempt_at <= now()
        ORDER BY org_id
        LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT events.org_id FROM events
        WHERE events.org_id > working.org_id AND next_attempt_at <= now()
        ORDER BY events.org_id
        LIMIT 1
    )
    FROM working
    WHERE working.org_id IS NOT NULL
)
SELECT org_id FROM working WHERE org_id IS NOT NULL
