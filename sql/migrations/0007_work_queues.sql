-- Steps that were never sent are taken many at a time, by an index of their own: however many there are, they do not stand
-- between a worker and what else is due, nor those of one partner before another's.

CREATE INDEX operations_never_sent ON operations (org_id, kind, next_attempt_at)
WHERE state = 'ready' AND first_sent_at IS NULL AND fact = '';

DROP INDEX operations_due;
CREATE INDEX operations_due ON operations (org_id, (coalesce(lease_until, next_attempt_at)))
WHERE state IN ('leased', 'retry_at', 'unknown') OR state = 'ready' AND (first_sent_at IS NOT NULL OR fact <> '');

-- What is about an order that is here comes before what waits for one, which may be somebody else's, however much of it there is.

DROP INDEX events_due;
CREATE INDEX events_pending ON events (org_id, next_attempt_at) WHERE outcome = 'pending';
CREATE INDEX events_parked ON events (org_id, next_attempt_at) WHERE outcome = 'parked';

-- Bodies of deliveries that are kept, by age.

CREATE INDEX receipts_with_body ON receipts (org_id, received_at) WHERE body IS NOT NULL;
