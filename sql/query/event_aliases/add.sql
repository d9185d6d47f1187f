-- One more notification that told of a fact.
--
-- $1 org_id, $2 provider, $3 notification_id, $4 fact_key
INSERT INTO event_aliases (org_id, provider, notification_id, fact_key)
VALUES ($1, $2, $3, $4)
ON CONFLICT (org_id, provider, notification_id, fact_key) DO NOTHING
