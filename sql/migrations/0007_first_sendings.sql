-- Steps that were never sent are taken many at a time, by an index of their own: however many there are, they do not stand
-- between a worker and what else is due.

CREATE INDEX operations_never_sent ON operations (org_id, next_attempt_at)
WHERE state = 'ready' AND first_sent_at IS NULL AND fact = '';

DROP INDEX operations_due;
CREATE INDEX operations_due ON operations (org_id, (coalesce(lease_until, next_attempt_at)))
WHERE state IN ('leased', 'retry_at', 'unknown') OR state = 'ready' AND (first_sent_at IS NOT NULL OR fact <> '');
