-- An order is paid: its other charges that are not settled are only looked up and ended from now on, never sent again.
--
-- $1 org_id, $2 order_id, $3 the attempt that was paid
UPDATE operations
SET never_send = true
WHERE org_id = $1 AND order_id = $2 AND kind = 'charge' AND fact <> $3
    AND state NOT IN ('done', 'failed') AND NOT never_send
