-- What the request under a key asked for, in canonical form: to tell where another one differs.
--
-- $1 org_id, $2 idempotency_key
SELECT
    CASE WHEN idempotency_keys.request IS NULL THEN orders.request ELSE idempotency_keys.request END AS request
FROM idempotency_keys
LEFT JOIN orders ON orders.org_id = $1 AND orders.order_id = idempotency_keys.order_id
WHERE idempotency_keys.org_id = $1 AND idempotency_keys.idempotency_key = $2
