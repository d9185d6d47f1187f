-- How an effect may be asked about from now on.
--
-- $1 org_id, $2 order_id, $3 kind, $4 fact, $5 whether it is never sent again, $6 whether it is only looked up
UPDATE operations
SET never_send = never_send OR $5::boolean, look_only = $6::boolean
WHERE org_id = $1 AND order_id = $2 AND kind = $3 AND fact = $4 AND state <> 'done'
