-- Deliveries about one order, oldest first, without their bytes: those that named it when they came, and those whose fact was
-- found to be about it later.
--
-- $1 org_id, $2 order_id, $3 limit
WITH about AS (
    SELECT receipt_id FROM receipts WHERE org_id = $1 AND order_id = $2::uuid
    UNION
    SELECT receipts.receipt_id
    FROM events
    INNER JOIN event_aliases
        ON event_aliases.org_id = $1 AND event_aliases.provider = events.provider
            AND event_aliases.fact_key = events.fact_key
    INNER JOIN receipts
        ON receipts.org_id = $1 AND receipts.notification_id = event_aliases.notification_id
            AND receipts.provider = events.provider AND receipts.fact_key = events.fact_key
            AND receipts.order_id IS NULL
    WHERE events.org_id = $1 AND events.order_id = $2
)

SELECT
    receipt_id, arrival, endpoint_id, provider, received_at, signature, secret_label, skew_seconds,
    body_bytes, reply_status, classification, notification_id, type, object_id, fact_key, order_id
FROM receipts
WHERE org_id = $1 AND receipt_id = ANY (ARRAY(SELECT receipt_id FROM about))
ORDER BY receipt_id
LIMIT $3::bigint
