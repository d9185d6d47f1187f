-- exempt: lists organisations, without a lock; each is then worked on by its own statement.
-- The organisations that have at least one key to remove. One probe of the partial index for each, however many keys have
-- expired: as a join it could be planned to read them all.
SELECT org_id
FROM orgs
WHERE (
    SELECT true
    FROM idempotency_keys
    WHERE idempotency_keys.org_id = orgs.org_id
        AND idempotency_keys.expires_at <= now()
        AND idempotency_keys.state = 'completed'
    ORDER BY idempotency_keys.expires_at
    LIMIT 1
)
ORDER BY org_id
