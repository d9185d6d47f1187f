-- The next attempt of an order.
--
-- $1 org_id, $2 order_id, $3 attempt, $4 provider, $5 method_sealed, $6 amount, $7 currency, $8 gateway_sha256
INSERT INTO payments (
    org_id, order_id, attempt, provider, method_sealed, amount, currency, gateway_sha256, state, created_at, updated_at
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'processing', now(), now())
