-- Whether an order has a charge that is not settled.
--
-- $1 org_id, $2 order_id
SELECT count(*) AS open
FROM operations
WHERE org_id = $1 AND order_id = $2 AND kind = 'charge'
    AND state IN ('ready', 'leased', 'retry_at', 'unknown', 'needs_reconciliation')
