-- One entry of an order's story. Never changed, never removed.
--
-- $1 org_id, $2 order_id, $3 entry_id, $4 actor, $5 what, $6 details
INSERT INTO journal (org_id, order_id, entry_id, at, actor, what, details)
VALUES ($1, $2, $3, now(), $4, $5, $6)
