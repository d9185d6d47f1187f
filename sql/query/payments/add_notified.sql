-- An attempt that we did not make ourselves: a notification told of it. For all that the order costs.
--
-- $1 org_id, $2 order_id, $3 attempt, $4 provider, $5 gateway_reference
INSERT INTO payments (
    org_id, order_id, attempt, provider, gateway_reference, amount, currency, state, created_at, updated_at
)
SELECT org_id, order_id, $3::integer, $4, $5, amount, currency, 'processing', now(), now()
FROM orders
WHERE org_id = $1 AND order_id = $2
