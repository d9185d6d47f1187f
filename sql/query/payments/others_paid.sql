-- Whether another attempt of the order has taken its money.
--
-- $1 org_id, $2 order_id, $3 attempt
SELECT count(*) AS paid
FROM payments
WHERE org_id = $1 AND order_id = $2 AND attempt <> $3
    AND state IN ('succeeded', 'partially_refunded', 'refunded', 'disputed')
