-- Writes what was given back of an attempt, all books together, and how it stands by that, under its lock.
--
-- $1 org_id, $2 order_id, $3 attempt, $4 refunded, $5 state
UPDATE payments
SET refunded = $4::bigint, state = $5, updated_at = now()
WHERE org_id = $1 AND order_id = $2 AND attempt = $3
    AND state IN ('succeeded', 'partially_refunded', 'refunded', 'disputed')
