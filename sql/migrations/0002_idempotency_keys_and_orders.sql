-- The claim and the order. Both are written by one statement: sql/query/idempotency_keys/claim_with_order.sql.
--
-- Neither table has a foreign key to orgs: each insert would lock the one row of its organisation, which every order of
-- that organisation would share. Organisations are never deleted.

CREATE TABLE idempotency_keys (
    org_id              bigint      NOT NULL,
    idempotency_key     text        COLLATE "C" NOT NULL,
    fingerprint_version smallint    NOT NULL,
    request_sha256      bytea       NOT NULL,
    state               text        NOT NULL CHECK (state IN ('in_progress', 'completed')),
    -- Minted anew for each try before it claims, so it also tells a try its own claim from another's.
    order_id            uuid        NOT NULL,
    response_status     smallint,
    response_headers    jsonb,
    -- The exact bytes of the first answer: a replay is not rendered again.
    response_body       bytea,
    created_at          timestamptz NOT NULL,
    completed_at        timestamptz,
    -- Frozen when the key is claimed; null is for ever.
    expires_at          timestamptz,
    PRIMARY KEY (org_id, idempotency_key),
    CONSTRAINT idempotency_keys_completed_has_answer CHECK (
        (state = 'completed') = (
            response_status IS NOT NULL AND response_headers IS NOT NULL
            AND response_body IS NOT NULL AND completed_at IS NOT NULL
        )
    )
);

-- For clean-up only, and only for the keys that expire: others pay nothing for it.
CREATE INDEX idempotency_keys_expiring ON idempotency_keys (org_id, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE orders (
    org_id               bigint      NOT NULL,
    order_id             uuid        NOT NULL,
    order_reference      text,
    customer_reference   text        NOT NULL,
    currency             text        NOT NULL,
    amount               bigint      NOT NULL CHECK (amount BETWEEN 0 AND 9007199254740991),
    amount_refunded      bigint      NOT NULL DEFAULT 0 CHECK (amount_refunded >= 0),
    status               text        NOT NULL CHECK (status IN (
        'received', 'payment_failed', 'confirmed', 'shipment_requested', 'completed', 'cancelled'
    )),
    needs_reconciliation boolean     NOT NULL DEFAULT false,
    version              integer     NOT NULL DEFAULT 1,
    -- The request in canonical form (RFC 8785). Lines, customer and metadata are read from it, and a mismatch is
    -- explained with it. Text, not jsonb: it is written once, never searched, and its exact bytes matter.
    request              text        NOT NULL,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    PRIMARY KEY (org_id, order_id)
);

CREATE UNIQUE INDEX orders_by_reference ON orders (org_id, order_reference) WHERE order_reference IS NOT NULL;
-- Lists are by order_id, newest first: UUID v7 ids are in order of creation.
CREATE INDEX orders_by_customer ON orders (org_id, customer_reference, order_id);
-- A frequent customer's few cancelled orders, say: by the index above they would be looked for among all of them.
CREATE INDEX orders_by_customer_and_status ON orders (org_id, customer_reference, status, order_id);
CREATE INDEX orders_by_status ON orders (org_id, status, order_id);
CREATE INDEX orders_to_reconcile ON orders (org_id, order_id) WHERE needs_reconciliation;
