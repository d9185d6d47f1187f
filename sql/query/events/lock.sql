-- A fact, locked after its order, so that it is applied once; with the order and attempt that any notification named.
--
-- $1 org_id, $2 provider, $3 fact_key
SELECT
    event_id, what, reference, amount, currency, provider_time, fact, order_id, outcome, deadline <= now() AS overdue,
    (
        SELECT event_aliases.named_order_id
        FROM event_aliases
        WHERE event_aliases.org_id = $1 AND event_aliases.provider = $2 AND event_aliases.fact_key = $3
            AND event_aliases.named_order_id IS NOT NULL
        ORDER BY event_aliases.created_at, event_aliases.notification_id
        LIMIT 1
    ) AS named_by_another,
    (
        SELECT event_aliases.attempt
        FROM event_aliases
        WHERE event_aliases.org_id = $1 AND event_aliases.provider = $2 AND event_aliases.fact_key = $3
            AND event_aliases.named_order_id IS NOT NULL
        ORDER BY event_aliases.created_at, event_aliases.notification_id
        LIMIT 1
    ) AS attempt_by_another
FROM events
WHERE events.org_id = $1 AND events.provider = $2 AND events.fact_key = $3
FOR UPDATE
