-- Payments, the ledger of effects, and what a person has to decide.

-- How an organisation reaches its payment gateway. The secret is sealed with ICHIDO_SECRET_KEY.
CREATE TABLE gateways (
    org_id        bigint      NOT NULL,
    provider      text        NOT NULL CHECK (provider IN ('stripe')),
    api_base      text        NOT NULL,
    secret_sealed bytea       NOT NULL,
    updated_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org_id, provider),
    FOREIGN KEY (org_id) REFERENCES orgs (org_id)
);

-- The cancellation that a client asked for.
ALTER TABLE orders ADD COLUMN cancel_requested_at timestamptz;

-- What the API shows of an order's newest attempt and of its steps (the newest of each kind, as `kind=state`). Written only
-- together with `version`, so that one version has one representation and one entity tag.
ALTER TABLE orders ADD COLUMN payment_attempt integer;
ALTER TABLE orders ADD COLUMN payment_provider text;
ALTER TABLE orders ADD COLUMN payment_reference text;
ALTER TABLE orders ADD COLUMN payment_state text;
ALTER TABLE orders ADD COLUMN steps text[];
ALTER TABLE orders ADD CONSTRAINT orders_payment_whole CHECK (
    (payment_attempt IS NULL) = (payment_state IS NULL) AND (payment_attempt IS NULL) = (payment_provider IS NULL)
);

-- One attempt to take an order's money at one gateway.
CREATE TABLE payments (
    org_id            bigint      NOT NULL,
    order_id          uuid        NOT NULL,
    attempt           integer     NOT NULL CHECK (attempt > 0),
    provider          text        NOT NULL,
    -- Hash of the gateway's address and secret: another gateway knows nothing of this attempt.
    gateway_sha256    bytea,
    -- Sealed; needed as long as the same call may have to be sent again, and removed when the attempt is settled.
    method_sealed     bytea,
    gateway_reference text,
    amount            bigint      NOT NULL CHECK (amount >= 0),
    currency          text        NOT NULL,
    refunded          bigint      NOT NULL DEFAULT 0 CHECK (refunded BETWEEN 0 AND amount),
    state             text        NOT NULL CHECK (state IN (
        'processing', 'succeeded', 'declined', 'unknown', 'partially_refunded', 'refunded',
        'capture_failed', 'disputed'
    )),
    decline_code      text,
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    PRIMARY KEY (org_id, order_id, attempt),
    FOREIGN KEY (org_id, order_id) REFERENCES orders (org_id, order_id)
);

-- One payment at the gateway pays one attempt.
CREATE UNIQUE INDEX payments_by_reference ON payments (org_id, provider, gateway_reference)
    WHERE gateway_reference IS NOT NULL;

-- The ledger of effects: everything that is asked of anybody else, once for each (order, kind, fact).
CREATE TABLE operations (
    org_id             bigint      NOT NULL,
    order_id           uuid        NOT NULL,
    kind               text        NOT NULL,
    -- The attempt for a charge, the request for a refund, empty for a step.
    fact               text        NOT NULL,
    state              text        NOT NULL CHECK (state IN (
        'waiting', 'ready', 'leased', 'done', 'retry_at', 'unknown', 'failed', 'needs_reconciliation'
    )),
    -- Sent to the other side as its idempotency key; never another one for the same row.
    operation_key      text        NOT NULL,
    -- In the currency's minor unit, where money moves; the same in every sending.
    amount             bigint      CHECK (amount >= 0),
    -- The keyed request that waits for this effect, if one does.
    idempotency_key    text        COLLATE "C",
    -- Counted when the row is taken, so that a panic counts.
    attempts           integer     NOT NULL DEFAULT 0,
    -- How often the other side was asked whether it happened.
    questions          integer     NOT NULL DEFAULT 0,
    next_attempt_at    timestamptz,
    deadline_at        timestamptz NOT NULL,
    lease_token        uuid,
    lease_until        timestamptz,
    first_sent_at      timestamptz,
    last_sent_at       timestamptz,
    -- Looked up and cancelled only, whatever its key is still good for.
    never_send         boolean     NOT NULL DEFAULT false,
    -- Looked up only, since that is what a person asked for.
    look_only          boolean     NOT NULL DEFAULT false,
    external_reference text,
    last_outcome       text,
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL,
    PRIMARY KEY (org_id, order_id, kind, fact),
    FOREIGN KEY (org_id, order_id) REFERENCES orders (org_id, order_id),
    CONSTRAINT operations_leased_has_lease CHECK (
        (state = 'leased') = (lease_token IS NOT NULL AND lease_until IS NOT NULL)
    ),
    -- What waits without a time would wait for ever.
    CONSTRAINT operations_waiting_has_time CHECK (
        (state IN ('ready', 'retry_at', 'unknown')) = (next_attempt_at IS NOT NULL)
    )
);

-- One key names one effect.
CREATE UNIQUE INDEX operations_by_key ON operations (org_id, operation_key);

-- What the worker looks for. Rows that are finished, or that wait for a person, are not in it.
CREATE INDEX operations_due ON operations (org_id, coalesce(lease_until, next_attempt_at))
    WHERE state IN ('ready', 'leased', 'retry_at', 'unknown');

-- The claim of a keyed request that is at work names its charge: the attempt. The charge names the claim.
ALTER TABLE idempotency_keys ADD COLUMN attempt integer;
-- What was asked for, in canonical form, where the order's own request is something else.
ALTER TABLE idempotency_keys ADD COLUMN request text;

CREATE TABLE reconciliation_cases (
    org_id      bigint      NOT NULL,
    case_id     uuid        NOT NULL,
    order_id    uuid        NOT NULL,
    kind        text        NOT NULL,
    fact        text        NOT NULL,
    reason      text        NOT NULL,
    state       text        NOT NULL CHECK (state IN ('open', 'resolved')),
    owner       text        NOT NULL,
    corrector   text        NOT NULL,
    suggestion  text        NOT NULL,
    evidence    jsonb       NOT NULL,
    opened_at   timestamptz NOT NULL,
    deadline    timestamptz NOT NULL,
    decision    text,
    decided_by  text,
    reason_given text,
    proof       text,
    resolved_at timestamptz,
    CONSTRAINT reconciliation_cases_resolved_is_told CHECK (
        (state = 'resolved') = (decision IS NOT NULL AND decided_by IS NOT NULL AND resolved_at IS NOT NULL)
    ),
    PRIMARY KEY (org_id, case_id),
    FOREIGN KEY (org_id, order_id) REFERENCES orders (org_id, order_id)
);

-- One open case for each effect: the same trouble seen again is the same case.
CREATE UNIQUE INDEX reconciliation_cases_open ON reconciliation_cases (org_id, order_id, kind, fact)
    WHERE state = 'open';
CREATE INDEX reconciliation_cases_by_order ON reconciliation_cases (org_id, order_id, case_id);
CREATE INDEX reconciliation_cases_by_state ON reconciliation_cases (org_id, state, case_id);

-- Append-only: what happened to an order, in order.
CREATE TABLE journal (
    org_id   bigint      NOT NULL,
    order_id uuid        NOT NULL,
    entry_id uuid        NOT NULL,
    at       timestamptz NOT NULL,
    actor    text        NOT NULL,
    what     text        NOT NULL,
    details  jsonb       NOT NULL,
    PRIMARY KEY (org_id, order_id, entry_id),
    FOREIGN KEY (org_id, order_id) REFERENCES orders (org_id, order_id)
);
