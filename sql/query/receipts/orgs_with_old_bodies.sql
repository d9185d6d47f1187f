-- exempt: lists organisations, without a lock; each is then worked on by its own statement.
-- The organisations with deliveries whose bytes are older than they are kept. One probe of the partial index for each.
--
-- $1 days
SELECT org_id
FROM orgs
WHERE (
    SELECT true FROM receipts
    WHERE receipts.org_id = orgs.org_id AND body IS NOT NULL
        AND received_at < now() - $1::integer * interval '1 day'
    LIMIT 1
)
ORDER BY org_id
