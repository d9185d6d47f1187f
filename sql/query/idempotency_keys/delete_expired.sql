-- One bounded batch of one organisation's keys past their keeping time. The rows are chosen and locked first
-- (MATERIALIZED keeps the LIMIT exact); a row that somebody holds is left for the next batch. A key that is not
-- completed is never touched, whatever its age. They are removed as an array and not by a join: how many there are is not
-- known when the statement is planned, and a join of many is planned as a scan of the whole table.
--
-- $1 org_id, $2 batch size
WITH due AS MATERIALIZED (
    SELECT idempotency_key
    FROM idempotency_keys
    WHERE org_id = $1 AND expires_at <= now() AND state = 'completed'
    ORDER BY expires_at
    LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED
)
DELETE FROM idempotency_keys
WHERE org_id = $1 AND idempotency_key = ANY (ARRAY(SELECT idempotency_key FROM due))
