-- Entries of one kind in orders' stories. Never changed, never removed.
--
-- $1 org_id, $2 order_ids, $3 entry_ids, $4 actor, $5 what, $6 details of each
INSERT INTO journal (org_id, order_id, entry_id, at, actor, what, details)
SELECT $1, entry.order_id, entry.entry_id, now(), $4, $5, entry.details
FROM unnest($2::uuid[], $3::uuid[], $6::jsonb[]) AS entry (order_id, entry_id, details)
