-- The tables of both peers, made by each at its start in a database of its own. They have what this one command needs
-- and no more: fewer columns and indexes than Ichido's, so PostgreSQL has less to do for a peer.

CREATE TABLE IF NOT EXISTS idempotency_keys (
    org_id bigint NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    request_sha256 bytea NOT NULL,
    state text NOT NULL CHECK (state IN ('in_progress', 'completed')),
    response_status smallint,
    -- Text, not bytea: JSON is text in both languages, and a bytea would cross node-postgres as hexadecimal.
    response_body text,
    created_at timestamptz NOT NULL DEFAULT now(),
    completed_at timestamptz,
    PRIMARY KEY (org_id, idempotency_key)
);

CREATE TABLE IF NOT EXISTS orders (
    org_id bigint NOT NULL,
    order_id uuid NOT NULL,
    customer_reference text NOT NULL,
    currency text NOT NULL,
    amount bigint NOT NULL,
    status text NOT NULL,
    request text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (org_id, order_id)
);

CREATE INDEX IF NOT EXISTS orders_by_customer ON orders (org_id, customer_reference, order_id);
