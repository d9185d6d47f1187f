-- Which order a fact is about: the one that is named, if there is one, and the one whose payment goes by that reference.
-- Not locked.
--
-- $1 org_id, $2 provider, $3 the order that is named, $4 reference
SELECT
    (SELECT order_id FROM orders WHERE org_id = $1 AND order_id = $3::uuid) AS named,
    (SELECT order_id FROM payments WHERE org_id = $1 AND provider = $2 AND gateway_reference = $4::text) AS by_reference
