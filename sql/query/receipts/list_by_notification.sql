-- Deliveries of one notification.
-- Newest first, below the cursor (the highest UUID for the first page). Each leading filter has a file of its own, so that
-- each has its own plan and index; the other filters are applied to the rows (null: any). They are written as CASE so that the
-- planner does not take the few rows that they might leave for a reason to sort the table.
--
-- $1 org_id, $2 receipt_id of the cursor, $3 limit, $4 classification, $5 signature, $6 type, $7 endpoint_id, $8 notification_id
SELECT
    receipt_id, arrival, endpoint_id, provider, received_at, signature, secret_label, skew_seconds,
    body_bytes, reply_status, classification, notification_id, type, object_id, fact_key, order_id
FROM receipts
WHERE org_id = $1
    AND receipt_id < $2
    AND CASE WHEN $4::text IS NULL THEN true ELSE classification = $4 END
    AND CASE WHEN $5::text IS NULL THEN true ELSE signature = $5 END
    AND CASE WHEN $6::text IS NULL THEN true ELSE type = $6 END
    AND CASE WHEN $7::uuid IS NULL THEN true ELSE endpoint_id = $7 END
    AND notification_id = $8::text
ORDER BY receipt_id DESC
LIMIT $3::bigint
