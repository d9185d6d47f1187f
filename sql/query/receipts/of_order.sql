-- Deliveries about one order, oldest first, without their bytes.
--
-- $1 org_id, $2 order_id, $3 limit
SELECT
    receipt_id, arrival, endpoint_id, provider, received_at, signature, secret_label, skew_seconds,
    body_bytes, reply_status, classification, notification_id, type, object_id, fact_key, order_id
FROM receipts
WHERE org_id = $1 AND order_id = $2::uuid
ORDER BY receipt_id
LIMIT $3::bigint
