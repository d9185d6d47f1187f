-- exempt: lists organisations, without a lock; each is then worked on by its own statements.
SELECT org_id
FROM orgs
WHERE EXISTS (
    SELECT FROM operations
    WHERE operations.org_id = orgs.org_id
        AND operations.state IN ('ready', 'leased', 'retry_at', 'unknown')
        AND coalesce(operations.lease_until, operations.next_attempt_at) <= now()
)
ORDER BY org_id
