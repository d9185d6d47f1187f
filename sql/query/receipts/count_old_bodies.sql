-- How many deliveries `forget_bodies.sql` would empty, all batches together.
--
-- $1 org_id, $2 days
SELECT count(*) AS bodies
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
