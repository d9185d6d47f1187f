-- Ends steps whose first sending was answered as done. State and token are compared, so that a late writer changes nothing;
-- only what is returned was recorded.
--
-- $1 org_id, $2 order_ids, $3 kinds, $4 the tokens they were taken with, $5 the partner's names for them
UPDATE operations
SET state = 'done', next_attempt_at = NULL, lease_token = NULL, lease_until = NULL,
    external_reference = coalesce(external_reference, done.reference), last_outcome = 'done', updated_at = now()
FROM unnest($2::uuid[], $3::text[], $4::uuid[], $5::text[]) AS done (order_id, kind, token, reference)
WHERE operations.org_id = $1 AND operations.order_id = done.order_id AND operations.kind = done.kind
    AND operations.fact = '' AND operations.state = 'leased' AND operations.lease_token = done.token
RETURNING operations.order_id, operations.kind
