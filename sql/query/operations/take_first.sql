-- Takes steps that were never sent, many at once, and notes a sending of those that may be sent without a second look: never
-- taken up before, in time, and of an order that nobody wants cancelled. The others are only taken. What somebody else has
-- locked is theirs.
--
-- $1 org_id, $2 kinds, $3 hash of the target of each, $4 limit of each, $5 lease_token, $6 lease in seconds
WITH due AS MATERIALIZED (
    SELECT step.order_id, target.kind, target.sha256
    FROM unnest($2::text[], $3::bytea[], $4::bigint[]) AS target (kind, sha256, at_most)
    CROSS JOIN LATERAL (
        SELECT operations.order_id
        FROM operations
        WHERE operations.org_id = $1 AND operations.kind = target.kind
            AND state = 'ready' AND first_sent_at IS NULL AND fact = '' AND next_attempt_at <= now()
        ORDER BY next_attempt_at
        LIMIT target.at_most
        FOR UPDATE SKIP LOCKED
    ) AS step
),

chosen AS (
    SELECT
        due.order_id, due.kind, due.sha256,
        operations.attempts = 0 AND NOT operations.never_send AND NOT operations.look_only
        AND operations.deadline_at > now()
        AND orders.status <> 'cancelled' AND orders.cancel_requested_at IS NULL AS may_be_sent
    FROM due
    INNER JOIN operations
        ON operations.org_id = $1 AND operations.order_id = due.order_id
            AND operations.kind = due.kind AND operations.fact = ''
    INNER JOIN orders ON orders.org_id = $1 AND orders.order_id = due.order_id
)

UPDATE operations
SET state = 'leased', lease_token = $5::uuid, lease_until = now() + $6::double precision * interval '1 second',
    attempts = attempts + 1, next_attempt_at = NULL, updated_at = now(),
    first_sent_at = CASE WHEN may_be_sent THEN now() END, last_sent_at = CASE WHEN may_be_sent THEN now() END,
    target_sha256 = CASE WHEN may_be_sent THEN chosen.sha256 END
FROM chosen
INNER JOIN orders ON orders.org_id = $1 AND orders.order_id = chosen.order_id
WHERE operations.org_id = $1 AND operations.order_id = chosen.order_id
    AND operations.kind = chosen.kind AND operations.fact = ''
RETURNING
    operations.kind, operations.operation_key, operations.deadline_at, operations.created_at AS asked_for_at,
    chosen.may_be_sent, now() AS now,
    orders.org_id, orders.order_id, orders.currency, orders.amount, orders.amount_refunded, orders.status,
    orders.needs_reconciliation, orders.version, orders.request, orders.created_at, orders.updated_at,
    orders.payment_attempt, orders.payment_provider, orders.payment_reference, orders.payment_state, orders.steps
