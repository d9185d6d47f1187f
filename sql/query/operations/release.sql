-- Lets steps begin whose turn has come; their time begins now.
--
-- $1 org_id, $2 order_ids, $3 kinds, $4 seconds until the time of each is up
UPDATE operations
SET state = 'ready', next_attempt_at = now(), deadline_at = now() + released.seconds * interval '1 second',
    updated_at = now()
FROM unnest($2::uuid[], $3::text[], $4::double precision[]) AS released (order_id, kind, seconds)
WHERE operations.org_id = $1 AND operations.order_id = released.order_id AND operations.kind = released.kind
    AND operations.fact = '' AND operations.state = 'waiting'
