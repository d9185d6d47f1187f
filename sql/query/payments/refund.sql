-- Adds what was given back, under the attempt's lock. No row: that is more than was taken.
--
-- $1 org_id, $2 order_id, $3 attempt, $4 amount
UPDATE payments
SET refunded = refunded + $4::bigint,
    state = CASE WHEN refunded + $4 >= amount THEN 'refunded' ELSE 'partially_refunded' END,
    updated_at = now()
WHERE org_id = $1 AND order_id = $2 AND attempt = $3 AND refunded + $4 <= amount
