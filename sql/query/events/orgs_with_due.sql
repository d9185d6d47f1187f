-- exempt: lists organisations, without a lock; each is then worked on by its own statements.
-- From each organisation with facts that wait the partial index leads to the next one; whether any is due takes one probe, however
-- many are not.
WITH RECURSIVE pending AS (
    (SELECT org_id FROM events WHERE outcome = 'pending' ORDER BY org_id LIMIT 1)
    UNION ALL
    SELECT (
        SELECT events.org_id FROM events
        WHERE events.org_id > pending.org_id AND outcome = 'pending'
        ORDER BY events.org_id
        LIMIT 1
    )
    FROM pending
    WHERE pending.org_id IS NOT NULL
),

parked AS (
    (SELECT org_id FROM events WHERE outcome = 'parked' ORDER BY org_id LIMIT 1)
    UNION ALL
    SELECT (
        SELECT events.org_id FROM events
        WHERE events.org_id > parked.org_id AND outcome = 'parked'
        ORDER BY events.org_id
        LIMIT 1
    )
    FROM parked
    WHERE parked.org_id IS NOT NULL
)

SELECT org_id FROM pending
WHERE (
    SELECT true FROM events WHERE events.org_id = pending.org_id AND outcome = 'pending' AND next_attempt_at <= now()
    LIMIT 1
)
UNION
SELECT org_id FROM parked
WHERE (
    SELECT true FROM events WHERE events.org_id = parked.org_id AND outcome = 'parked' AND next_attempt_at <= now()
    LIMIT 1
)
