-- One delivery that was refused, unless so many of the endpoint's were kept within an hour: whoever can reach the endpoint
-- could fill the disk otherwise. Some more may get in at the same moment, since the counting locks nothing.
--
-- $1 org_id, $2 receipt_id, $3 endpoint_id, $4 provider, $5 signature, $6 skew_seconds, $7 the body's beginning,
-- $8 body_bytes, $9 reply_status, $10 how many are kept
INSERT INTO receipts (
    org_id, receipt_id, endpoint_id, provider, received_at, signature, skew_seconds, body, body_bytes, reply_status
)
SELECT $1::bigint, $2, $3, $4, now(), $5, $6, $7, $8, $9
WHERE (
    SELECT count(*)
    FROM receipts
    WHERE org_id = $1 AND endpoint_id = $3 AND signature <> 'valid' AND received_at > now() - interval '1 hour'
) < $10::bigint
