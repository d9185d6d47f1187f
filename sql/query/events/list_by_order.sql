-- Facts about one order.
-- Newest first, below the cursor (the highest UUID for the first page). Each leading filter has a file of its own, so that
-- each has its own plan and index; the other filters are applied to the rows (null: any). They are written as CASE so that the
-- planner does not take the few rows that they might leave for a reason to sort the table.
--
-- $1 org_id, $2 event_id of the cursor, $3 limit, $4 outcome, $5 what, $6 fact_key, $7 order_id
SELECT
    event_id, provider, fact_key, what, reference, amount, currency, provider_time, outcome, reason, order_id,
    CASE WHEN next_attempt_at IS NOT NULL THEN deadline END AS deadline, created_at, updated_at,
    ARRAY(
        SELECT notification_id
        FROM event_aliases
        WHERE event_aliases.org_id = $1 AND event_aliases.provider = events.provider
            AND event_aliases.fact_key = events.fact_key
        ORDER BY event_aliases.created_at, notification_id
    ) AS notification_ids
FROM events
WHERE events.org_id = $1
    AND event_id < $2
    AND CASE WHEN $4::text IS NULL THEN true ELSE outcome = $4 END
    AND CASE WHEN $5::text IS NULL THEN true ELSE what = $5 END
    AND CASE WHEN $6::text IS NULL THEN true ELSE events.fact_key = $6 END
    AND order_id = $7::uuid
ORDER BY event_id DESC
LIMIT $3::bigint
