-- The inbox: what providers tell us. A delivery is a receipt, what it tells is an event, and what is done about it is an
-- operation; the three have keys of their own.
--
-- None of these tables has a foreign key to orders: it would wait for an order's lock, and a notification may come first.

CREATE TABLE webhook_endpoints (
    org_id      bigint      NOT NULL,
    endpoint_id uuid        NOT NULL,
    provider    text        NOT NULL CHECK (provider IN ('stripe')),
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org_id, endpoint_id),
    FOREIGN KEY (org_id) REFERENCES orgs (org_id)
);

-- A delivery names its endpoint, and the endpoint names the organisation.
CREATE INDEX webhook_endpoints_by_id ON webhook_endpoints (endpoint_id);

-- What deliveries are signed with, sealed with ICHIDO_SECRET_KEY. One that retires still counts until its time is up.
CREATE TABLE webhook_secrets (
    org_id        bigint      NOT NULL,
    endpoint_id   uuid        NOT NULL,
    label         text        NOT NULL,
    secret_sealed bytea       NOT NULL,
    state         text        NOT NULL CHECK (state IN ('active', 'retiring')),
    created_at    timestamptz NOT NULL DEFAULT now(),
    retires_at    timestamptz,
    PRIMARY KEY (org_id, endpoint_id, label),
    FOREIGN KEY (org_id, endpoint_id) REFERENCES webhook_endpoints (org_id, endpoint_id),
    CONSTRAINT webhook_secrets_retiring_has_time CHECK ((state = 'retiring') = (retires_at IS NOT NULL))
);

-- One row for each delivery, refused ones too. Never changed, but for the body, which goes by age.
CREATE TABLE receipts (
    org_id          bigint      NOT NULL,
    receipt_id      uuid        NOT NULL,
    -- The order of arrival in this database.
    arrival         bigint      GENERATED ALWAYS AS IDENTITY,
    endpoint_id     uuid        NOT NULL,
    provider        text        NOT NULL,
    received_at     timestamptz NOT NULL,
    signature       text        NOT NULL CHECK (signature IN (
        'valid', 'no_secret', 'no_header', 'malformed', 'mismatch', 'out_of_tolerance'
    )),
    secret_label    text,
    -- Our clock minus the time that was signed.
    skew_seconds    bigint,
    -- The bytes as they came; of a refused delivery the first 4 KiB.
    body            bytea,
    body_bytes      integer     NOT NULL CHECK (body_bytes >= 0),
    reply_status    smallint    NOT NULL,
    classification  text        CHECK (classification IN (
        'new', 'already_done', 'resumable', 'needs_reconciliation', 'parked', 'ignored'
    )),
    notification_id text,
    type            text,
    object_id       text,
    fact_key        text,
    order_id        uuid,
    PRIMARY KEY (org_id, receipt_id),
    CONSTRAINT receipts_accepted_is_classified CHECK ((signature = 'valid') = (classification IS NOT NULL))
);

CREATE INDEX receipts_by_order ON receipts (org_id, order_id, receipt_id) WHERE order_id IS NOT NULL;
CREATE INDEX receipts_by_notification ON receipts (org_id, notification_id, receipt_id) WHERE notification_id IS NOT NULL;
-- Refused ones are kept up to a number for each endpoint and hour.
CREATE INDEX receipts_refused ON receipts (org_id, endpoint_id, received_at) WHERE signature <> 'valid';

-- One row for each fact, however many notifications told of it.
CREATE TABLE events (
    org_id          bigint      NOT NULL,
    provider        text        NOT NULL,
    fact_key        text        NOT NULL,
    -- For lists: a UUID v7.
    event_id        uuid        NOT NULL,
    what            text        NOT NULL CHECK (what IN (
        'succeeded', 'failed', 'canceled', 'processing', 'refund', 'refunded_total', 'dispute'
    )),
    -- The provider's name for the payment that it is about.
    reference       text,
    -- In ISO 4217 minor units; null where the provider told no amount, or one that has no such form.
    amount          bigint,
    currency        text,
    provider_time   timestamptz,
    -- All that was read of it.
    fact            jsonb       NOT NULL,
    -- The order that the provider's metadata name, whether there is one or not.
    named_order_id  uuid,
    order_id        uuid,
    outcome         text        NOT NULL CHECK (outcome IN (
        'pending', 'applied', 'same_fact', 'stale', 'parked', 'conflict', 'ignored'
    )),
    -- Why it ended like that; a code.
    reason          text,
    -- Until when it waits for its order, or for what it depends on.
    deadline        timestamptz NOT NULL,
    attempts        integer     NOT NULL DEFAULT 0,
    next_attempt_at timestamptz,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    PRIMARY KEY (org_id, provider, fact_key),
    -- What waits without a time would wait for ever.
    CONSTRAINT events_waiting_has_time CHECK ((outcome IN ('pending', 'parked')) = (next_attempt_at IS NOT NULL))
);

CREATE UNIQUE INDEX events_by_id ON events (org_id, event_id);
CREATE INDEX events_by_order ON events (org_id, order_id, event_id) WHERE order_id IS NOT NULL;
CREATE INDEX events_by_reference ON events (org_id, provider, reference) WHERE reference IS NOT NULL;
CREATE INDEX events_due ON events (org_id, next_attempt_at) WHERE next_attempt_at IS NOT NULL;

-- Every notification that told of a fact.
CREATE TABLE event_aliases (
    org_id          bigint      NOT NULL,
    provider        text        NOT NULL,
    notification_id text        NOT NULL,
    fact_key        text        NOT NULL,
    -- The order and attempt that this one names: the first one may not have named any.
    named_order_id  uuid,
    attempt         integer,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org_id, provider, notification_id, fact_key)
);

CREATE INDEX event_aliases_by_fact ON event_aliases (org_id, provider, fact_key);

-- A case may be about an order that never came.
ALTER TABLE reconciliation_cases DROP CONSTRAINT reconciliation_cases_org_id_order_id_fkey;
