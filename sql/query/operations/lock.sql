-- One effect, locked after its order and payment.
--
-- $1 org_id, $2 order_id, $3 kind, $4 fact
SELECT
    state, operation_key, amount, idempotency_key, attempts, questions, deadline_at, lease_token,
    first_sent_at, last_sent_at, never_send, look_only, external_reference, last_outcome, target_sha256, created_at
FROM operations
WHERE org_id = $1 AND order_id = $2 AND kind = $3 AND fact = $4
FOR UPDATE
