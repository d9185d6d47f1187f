-- A fact as it stands, and how much of the order's work is not finished. Not locked: a delivery waits for nobody.
--
-- $1 org_id, $2 provider, $3 fact_key
SELECT
    reference, named_order_id, amount, currency, order_id, outcome,
    (
        SELECT count(*)
        FROM operations
        WHERE operations.org_id = $1 AND operations.order_id = events.order_id
            AND operations.state IN ('waiting', 'ready', 'leased', 'retry_at', 'unknown')
    ) AS unfinished
FROM events
WHERE events.org_id = $1 AND events.provider = $2 AND events.fact_key = $3
