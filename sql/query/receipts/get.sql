-- One delivery with its bytes, by its primary key.
--
-- $1 org_id, $2 receipt_id
SELECT
    receipt_id, arrival, endpoint_id, provider, received_at, signature, secret_label, skew_seconds,
    body_bytes, reply_status, classification, notification_id, type, object_id, fact_key, order_id, body
FROM receipts
WHERE org_id = $1 AND receipt_id = $2
