-- Empties deliveries that are older than their bytes are kept, the oldest first; the rows stay. Never while something about them is
-- not resolved: a fact that waits, or an open case of the order.
--
-- $1 org_id, $2 days, $3 limit
UPDATE receipts
SET body = NULL
WHERE org_id = $1 AND receipt_id = ANY (ARRAY(
    SELECT receipt_id
    FROM receipts
    WHERE org_id = $1 AND body IS NOT NULL AND received_at < now() - $2::integer * interval '1 day'
        AND NOT EXISTS (
            SELECT FROM events
            WHERE events.org_id = $1 AND events.provider = receipts.provider AND events.fact_key = receipts.fact_key
                AND events.outcome IN ('pending', 'parked')
        )
        AND NOT EXISTS (
            SELECT FROM events
            INNER JOIN reconciliation_cases
                ON reconciliation_cases.org_id = $1 AND reconciliation_cases.state = 'open'
                    AND reconciliation_cases.order_id = coalesce(events.order_id, named_order_id)
            WHERE events.org_id = $1 AND events.provider = receipts.provider AND events.fact_key = receipts.fact_key
        )
        AND NOT EXISTS (
            SELECT FROM event_aliases
            INNER JOIN reconciliation_cases
                ON reconciliation_cases.org_id = $1 AND reconciliation_cases.state = 'open'
                    AND reconciliation_cases.order_id = event_aliases.named_order_id
            WHERE event_aliases.org_id = $1 AND event_aliases.provider = receipts.provider
                AND event_aliases.fact_key = receipts.fact_key
        )
    ORDER BY received_at
    LIMIT $3::bigint
    FOR UPDATE SKIP LOCKED
))
