-- One delivery that was accepted. Waits for nobody: no foreign key, and a key of its own.
--
-- $1 org_id, $2 receipt_id, $3 endpoint_id, $4 provider, $5 secret_label, $6 skew_seconds, $7 body, $8 classification,
-- $9 notification_id, $10 type, $11 object_id, $12 fact_key, $13 order_id
INSERT INTO receipts (
    org_id, receipt_id, endpoint_id, provider, received_at, signature, secret_label, skew_seconds, body, body_bytes,
    reply_status, classification, notification_id, type, object_id, fact_key, order_id
)
VALUES (
    $1, $2, $3, $4, now(), 'valid', $5, $6, $7, octet_length($7::bytea), 200, $8, $9, $10, $11, $12, $13
)
