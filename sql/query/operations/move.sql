-- Moves an effect on. State and token are repeated here, so that a late writer changes nothing: no row is "lost the race".
--
-- $1 org_id, $2 order_id, $3 kind, $4 fact, $5 the state it had, $6 the token it had, $7 state, $8 next_attempt_at,
-- $9 external_reference, $10 last_outcome, $11 whether a question told nothing, $12 whether it was certainly never sent,
-- $13 seconds of a new start, with all its attempts and questions (null: none)
UPDATE operations
SET state = $7, next_attempt_at = $8, lease_token = NULL, lease_until = NULL,
    external_reference = coalesce(external_reference, $9::text), last_outcome = $10,
    attempts = CASE WHEN $13::double precision IS NULL THEN attempts ELSE 0 END,
    questions = CASE WHEN $13 IS NOT NULL THEN 0 WHEN $11::boolean THEN questions + 1 ELSE questions END,
    deadline_at = CASE WHEN $13 IS NULL THEN deadline_at ELSE now() + $13 * interval '1 second' END,
    first_sent_at = CASE WHEN $12::boolean THEN NULL ELSE first_sent_at END,
    last_sent_at = CASE WHEN $12 THEN NULL ELSE last_sent_at END,
    updated_at = now()
WHERE org_id = $1 AND order_id = $2 AND kind = $3 AND fact = $4
    AND state = $5 AND lease_token IS NOT DISTINCT FROM $6::uuid
