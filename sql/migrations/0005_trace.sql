-- Lists of effects, newest order first. Without a filter, and for one order, they walk the primary key.

-- By kind; its pages may be filtered for what is done, as most effects are.
CREATE INDEX operations_by_kind ON operations (org_id, kind, order_id, fact);

-- By any other state. What is done leaves it, so it stays small.
CREATE INDEX operations_unfinished ON operations (org_id, state, order_id, kind, fact) WHERE state <> 'done';

-- What the sweep compares with the gateway: attempts in order of time. Their moments never change.
CREATE INDEX payments_by_time ON payments (org_id, created_at, order_id, attempt);
