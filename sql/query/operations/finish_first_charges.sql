-- Ends first charges that the gateway answered with success, with their attempts, under the locks of their orders. Only those
-- to which nothing else has happened: state and token are compared, and an order with another attempt, an open case or a payment
-- that is known elsewhere is left to be settled alone. Only what is returned was recorded.
--
-- $1 org_id, $2 order_ids, $3 the tokens of their leases, $4 the gateway's names for the payments
WITH paid AS MATERIALIZED (
    SELECT paid.order_id, paid.token, paid.reference, attempt.amount, attempt.currency
    FROM unnest($2::uuid[], $3::uuid[], $4::text[]) AS paid (order_id, token, reference)
    CROSS JOIN LATERAL (
        SELECT provider, amount, currency
        FROM payments
        WHERE payments.org_id = $1 AND payments.order_id = paid.order_id AND payments.attempt = 1
            AND payments.state = 'processing' AND payments.gateway_reference IS NULL
        LIMIT 1
    ) AS attempt
    -- Counted, so that each is looked up by its index: of NOT EXISTS the planner makes one pass over everything.
    WHERE (
            SELECT count(*) FROM payments
            WHERE payments.org_id = $1 AND payments.order_id = paid.order_id
        ) = 1
        AND (
            SELECT count(*) FROM payments
            WHERE payments.org_id = $1
                AND payments.provider = attempt.provider
                AND payments.gateway_reference = paid.reference
        ) = 0
        AND (
            SELECT count(*) FROM reconciliation_cases
            WHERE reconciliation_cases.org_id = $1
                AND reconciliation_cases.order_id = paid.order_id
                AND reconciliation_cases.state = 'open'
        ) = 0
), ended AS (
    UPDATE operations
    SET state = 'done', next_attempt_at = NULL, lease_token = NULL, lease_until = NULL,
        external_reference = paid.reference, last_outcome = 'succeeded', updated_at = now()
    FROM paid
    WHERE operations.org_id = $1 AND operations.order_id = paid.order_id AND operations.kind = 'charge'
        AND operations.fact = '1' AND operations.state = 'leased' AND operations.lease_token = paid.token
        AND operations.attempts = 1 AND operations.questions = 0
    RETURNING
        operations.order_id, operations.operation_key, operations.idempotency_key, paid.amount, paid.currency, paid.reference
), settled AS (
    UPDATE payments
    SET state = 'succeeded', gateway_reference = ended.reference, method_sealed = NULL, updated_at = now()
    FROM ended
    WHERE payments.org_id = $1 AND payments.order_id = ended.order_id AND payments.attempt = 1
        AND payments.state = 'processing' AND payments.gateway_reference IS NULL
    RETURNING payments.order_id
)
SELECT
    order_id, operation_key, idempotency_key, amount, currency, reference,
    order_id IN (SELECT settled.order_id FROM settled) AS settled
FROM ended
