-- From now on an effect is looked up and cancelled only.
--
-- $1 org_id, $2 order_id, $3 kind, $4 fact
UPDATE operations
SET never_send = true
WHERE org_id = $1 AND order_id = $2 AND kind = $3 AND fact = $4
