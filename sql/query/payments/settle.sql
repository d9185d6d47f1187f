-- Writes what is known of an attempt, under its lock. A reference that is known stays, and so does money that was taken. The payment
-- method goes once nothing can have to be sent again.
--
-- $1 org_id, $2 order_id, $3 attempt, $4 state, $5 gateway_reference, $6 decline_code, $7 settled
UPDATE payments
SET state = $4,
    gateway_reference = coalesce(gateway_reference, $5::text),
    decline_code = $6,
    method_sealed = CASE WHEN $7::boolean THEN NULL ELSE method_sealed END,
    updated_at = now()
WHERE org_id = $1 AND order_id = $2 AND attempt = $3
    AND (state NOT IN ('succeeded', 'partially_refunded', 'refunded', 'disputed') OR state = $4)
