-- A fact as it stands, which order any notification named, how much of the order's work is not finished, and how much of it
-- waits for a person. Not locked: a delivery waits for nobody.
--
-- $1 org_id, $2 provider, $3 fact_key
SELECT
    reference, named_order_id, amount, currency, order_id, outcome,
    (
        SELECT event_aliases.named_order_id
        FROM event_aliases
        WHERE event_aliases.org_id = $1 AND event_aliases.provider = $2 AND event_aliases.fact_key = $3
            AND event_aliases.named_order_id IS NOT NULL
        ORDER BY event_aliases.created_at, event_aliases.notification_id
        LIMIT 1
    ) AS named_by_another,
    (
        SELECT count(*)
        FROM operations
        WHERE operations.org_id = $1 AND operations.order_id = events.order_id
            AND operations.state IN ('waiting', 'ready', 'leased', 'retry_at', 'unknown')
    ) AS unfinished,
    (
        SELECT count(*)
        FROM operations
        WHERE operations.org_id = $1 AND operations.order_id = events.order_id
            AND operations.state = 'needs_reconciliation'
    ) AS for_people
FROM events
WHERE events.org_id = $1 AND events.provider = $2 AND events.fact_key = $3
