-- One more notification that told of a fact, with what it names. Only ever inserted, so that a delivery waits for nobody.
--
-- $1 org_id, $2 provider, $3 notification_id, $4 fact_key, $5 named_order_id, $6 attempt
INSERT INTO event_aliases (org_id, provider, notification_id, fact_key, named_order_id, attempt)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (org_id, provider, notification_id, fact_key) DO NOTHING
