-- The schema that the migrations make, to be read in one place. Written by tests/it/schema.rs from a
-- migrated database, not by hand: UPDATE_GOLDEN=1 cargo test --test it schema

CREATE TABLE api_keys (
    org_id bigint NOT NULL,
    key_id text COLLATE "C" NOT NULL,
    secret_sha256 bytea NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamp with time zone NOT NULL DEFAULT now(),
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    last_used_at timestamp with time zone,
    CONSTRAINT api_keys_pkey PRIMARY KEY (org_id, key_id),
    CONSTRAINT api_keys_scopes_check CHECK (cardinality(scopes) > 0),
    CONSTRAINT api_keys_secret_sha256_check CHECK (octet_length(secret_sha256) = 32)
);
CREATE INDEX api_keys_by_key_id ON api_keys USING btree (key_id);

CREATE TABLE event_aliases (
    org_id bigint NOT NULL,
    provider text NOT NULL,
    notification_id text NOT NULL,
    fact_key text NOT NULL,
    named_order_id uuid,
    attempt integer,
    created_at timestamp with time zone NOT NULL DEFAULT now(),
    CONSTRAINT event_aliases_pkey PRIMARY KEY (org_id, provider, notification_id, fact_key)
);
CREATE INDEX event_aliases_by_fact ON event_aliases USING btree (org_id, provider, fact_key);

CREATE TABLE events (
    org_id bigint NOT NULL,
    provider text NOT NULL,
    fact_key text NOT NULL,
    event_id uuid NOT NULL,
    what text NOT NULL,
    reference text,
    amount bigint,
    currency text,
    provider_time timestamp with time zone,
    fact jsonb NOT NULL,
    named_order_id uuid,
    order_id uuid,
    outcome text NOT NULL,
    reason text,
    deadline timestamp with time zone NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    next_attempt_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT events_pkey PRIMARY KEY (org_id, provider, fact_key),
    CONSTRAINT events_outcome_check CHECK (outcome = ANY (ARRAY['pending'::text, 'applied'::text, 'same_fact'::text, 'stale'::text, 'parked'::text, 'conflict'::text, 'ignored'::text])),
    CONSTRAINT events_waiting_has_time CHECK ((outcome = ANY (ARRAY['pending'::text, 'parked'::text])) = (next_attempt_at IS NOT NULL)),
    CONSTRAINT events_what_check CHECK (what = ANY (ARRAY['succeeded'::text, 'failed'::text, 'canceled'::text, 'processing'::text, 'refund'::text, 'refunded_total'::text, 'dispute'::text]))
);
CREATE UNIQUE INDEX events_by_id ON events USING btree (org_id, event_id);
CREATE INDEX events_by_order ON events USING btree (org_id, order_id, event_id) WHERE (order_id IS NOT NULL);
CREATE INDEX events_by_reference ON events USING btree (org_id, provider, reference) WHERE (reference IS NOT NULL);
CREATE INDEX events_parked ON events USING btree (org_id, next_attempt_at) WHERE (outcome = 'parked'::text);
CREATE INDEX events_pending ON events USING btree (org_id, next_attempt_at) WHERE (outcome = 'pending'::text);

CREATE TABLE gateways (
    org_id bigint NOT NULL,
    provider text NOT NULL,
    api_base text NOT NULL,
    secret_sealed bytea NOT NULL,
    updated_at timestamp with time zone NOT NULL DEFAULT now(),
    CONSTRAINT gateways_pkey PRIMARY KEY (org_id, provider),
    CONSTRAINT gateways_provider_check CHECK (provider = 'stripe'::text)
);

CREATE TABLE idempotency_keys (
    org_id bigint NOT NULL,
    idempotency_key text COLLATE "C" NOT NULL,
    fingerprint_version smallint NOT NULL,
    request_sha256 bytea NOT NULL,
    state text NOT NULL,
    order_id uuid NOT NULL,
    response_status smallint,
    response_headers jsonb,
    response_body bytea,
    created_at timestamp with time zone NOT NULL,
    completed_at timestamp with time zone,
    expires_at timestamp with time zone,
    attempt integer,
    request text,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (org_id, idempotency_key),
    CONSTRAINT idempotency_keys_completed_has_answer CHECK ((state = 'completed'::text) = (response_status IS NOT NULL AND response_headers IS NOT NULL AND response_body IS NOT NULL AND completed_at IS NOT NULL)),
    CONSTRAINT idempotency_keys_state_check CHECK (state = ANY (ARRAY['in_progress'::text, 'completed'::text]))
);
CREATE INDEX idempotency_keys_expiring ON idempotency_keys USING btree (org_id, expires_at) WHERE (expires_at IS NOT NULL);

CREATE TABLE journal (
    org_id bigint NOT NULL,
    order_id uuid NOT NULL,
    entry_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    what text NOT NULL,
    details jsonb NOT NULL,
    CONSTRAINT journal_pkey PRIMARY KEY (org_id, order_id, entry_id)
);

CREATE TABLE operations (
    org_id bigint NOT NULL,
    order_id uuid NOT NULL,
    kind text NOT NULL,
    fact text NOT NULL,
    state text NOT NULL,
    operation_key text NOT NULL,
    amount bigint,
    idempotency_key text COLLATE "C",
    attempts integer NOT NULL DEFAULT 0,
    questions integer NOT NULL DEFAULT 0,
    next_attempt_at timestamp with time zone,
    deadline_at timestamp with time zone NOT NULL,
    lease_token uuid,
    lease_until timestamp with time zone,
    first_sent_at timestamp with time zone,
    last_sent_at timestamp with time zone,
    never_send boolean NOT NULL DEFAULT false,
    look_only boolean NOT NULL DEFAULT false,
    external_reference text,
    last_outcome text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    target_sha256 bytea,
    CONSTRAINT operations_pkey PRIMARY KEY (org_id, order_id, kind, fact),
    CONSTRAINT operations_amount_check CHECK (amount >= 0),
    CONSTRAINT operations_leased_has_lease CHECK ((state = 'leased'::text) = (lease_token IS NOT NULL AND lease_until IS NOT NULL)),
    CONSTRAINT operations_state_check CHECK (state = ANY (ARRAY['waiting'::text, 'ready'::text, 'leased'::text, 'done'::text, 'retry_at'::text, 'unknown'::text, 'failed'::text, 'needs_reconciliation'::text])),
    CONSTRAINT operations_waiting_has_time CHECK ((state = ANY (ARRAY['ready'::text, 'retry_at'::text, 'unknown'::text])) = (next_attempt_at IS NOT NULL))
);
CREATE UNIQUE INDEX operations_by_key ON operations USING btree (org_id, operation_key);
CREATE INDEX operations_by_kind ON operations USING btree (org_id, kind, order_id, fact);
CREATE INDEX operations_due ON operations USING btree (org_id, COALESCE(lease_until, next_attempt_at)) WHERE ((state = ANY (ARRAY['leased'::text, 'retry_at'::text, 'unknown'::text])) OR ((state = 'ready'::text) AND ((first_sent_at IS NOT NULL) OR (fact <> ''::text))));
CREATE INDEX operations_never_sent ON operations USING btree (org_id, kind, next_attempt_at) WHERE ((state = 'ready'::text) AND (first_sent_at IS NULL) AND (fact = ''::text));
CREATE INDEX operations_unfinished ON operations USING btree (org_id, state, order_id, kind, fact) WHERE (state <> 'done'::text);

CREATE TABLE orders (
    org_id bigint NOT NULL,
    order_id uuid NOT NULL,
    order_reference text,
    customer_reference text NOT NULL,
    currency text NOT NULL,
    amount bigint NOT NULL,
    amount_refunded bigint NOT NULL DEFAULT 0,
    status text NOT NULL,
    needs_reconciliation boolean NOT NULL DEFAULT false,
    version integer NOT NULL DEFAULT 1,
    request text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    cancel_requested_at timestamp with time zone,
    payment_attempt integer,
    payment_provider text,
    payment_reference text,
    payment_state text,
    steps text[],
    CONSTRAINT orders_pkey PRIMARY KEY (org_id, order_id),
    CONSTRAINT orders_amount_check CHECK (amount >= 0 AND amount <= '9007199254740991'::bigint),
    CONSTRAINT orders_amount_refunded_check CHECK (amount_refunded >= 0),
    CONSTRAINT orders_payment_whole CHECK ((payment_attempt IS NULL) = (payment_state IS NULL) AND (payment_attempt IS NULL) = (payment_provider IS NULL)),
    CONSTRAINT orders_status_check CHECK (status = ANY (ARRAY['received'::text, 'payment_failed'::text, 'confirmed'::text, 'shipment_requested'::text, 'completed'::text, 'cancelled'::text]))
);
CREATE INDEX orders_by_customer_and_status ON orders USING btree (org_id, customer_reference, status, order_id);
CREATE UNIQUE INDEX orders_by_reference ON orders USING btree (org_id, order_reference) WHERE (order_reference IS NOT NULL);
CREATE INDEX orders_by_status ON orders USING btree (org_id, status, order_id);
CREATE INDEX orders_to_reconcile ON orders USING btree (org_id, order_id) WHERE needs_reconciliation;

CREATE TABLE orgs (
    org_id bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY,
    name text NOT NULL,
    mode text NOT NULL,
    on_mismatch text NOT NULL,
    replay_status text NOT NULL,
    keys_kept_for_seconds bigint,
    new_claims_per_second integer,
    created_at timestamp with time zone NOT NULL DEFAULT now(),
    CONSTRAINT orgs_pkey PRIMARY KEY (org_id),
    CONSTRAINT orgs_keys_kept_for_seconds_check CHECK (keys_kept_for_seconds >= 86400 AND keys_kept_for_seconds <= '3155760000'::bigint),
    CONSTRAINT orgs_mode_check CHECK (mode = ANY (ARRAY['test'::text, 'live'::text])),
    CONSTRAINT orgs_name_check CHECK (char_length(name) >= 1 AND char_length(name) <= 200),
    CONSTRAINT orgs_new_claims_per_second_check CHECK (new_claims_per_second > 0),
    CONSTRAINT orgs_on_mismatch_check CHECK (on_mismatch = ANY (ARRAY['reject'::text, 'return_original'::text])),
    CONSTRAINT orgs_replay_status_check CHECK (replay_status = ANY (ARRAY['200'::text, 'original'::text]))
);

CREATE TABLE payments (
    org_id bigint NOT NULL,
    order_id uuid NOT NULL,
    attempt integer NOT NULL,
    provider text NOT NULL,
    gateway_sha256 bytea,
    method_sealed bytea,
    gateway_reference text,
    amount bigint NOT NULL,
    currency text NOT NULL,
    refunded bigint NOT NULL DEFAULT 0,
    state text NOT NULL,
    decline_code text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT payments_pkey PRIMARY KEY (org_id, order_id, attempt),
    CONSTRAINT payments_amount_check CHECK (amount >= 0),
    CONSTRAINT payments_attempt_check CHECK (attempt > 0),
    CONSTRAINT payments_check CHECK (refunded >= 0 AND refunded <= amount),
    CONSTRAINT payments_state_check CHECK (state = ANY (ARRAY['processing'::text, 'succeeded'::text, 'declined'::text, 'unknown'::text, 'partially_refunded'::text, 'refunded'::text, 'capture_failed'::text, 'disputed'::text]))
);
CREATE UNIQUE INDEX payments_by_reference ON payments USING btree (org_id, provider, gateway_reference) WHERE (gateway_reference IS NOT NULL);
CREATE INDEX payments_by_time ON payments USING btree (org_id, created_at, order_id, attempt);

CREATE TABLE receipts (
    org_id bigint NOT NULL,
    receipt_id uuid NOT NULL,
    arrival bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    endpoint_id uuid NOT NULL,
    provider text NOT NULL,
    received_at timestamp with time zone NOT NULL,
    signature text NOT NULL,
    secret_label text,
    skew_seconds bigint,
    body bytea,
    body_bytes integer NOT NULL,
    reply_status smallint NOT NULL,
    classification text,
    notification_id text,
    type text,
    object_id text,
    fact_key text,
    order_id uuid,
    CONSTRAINT receipts_pkey PRIMARY KEY (org_id, receipt_id),
    CONSTRAINT receipts_accepted_is_classified CHECK ((signature = 'valid'::text) = (classification IS NOT NULL)),
    CONSTRAINT receipts_body_bytes_check CHECK (body_bytes >= 0),
    CONSTRAINT receipts_classification_check CHECK (classification = ANY (ARRAY['new'::text, 'already_done'::text, 'resumable'::text, 'needs_reconciliation'::text, 'parked'::text, 'ignored'::text])),
    CONSTRAINT receipts_signature_check CHECK (signature = ANY (ARRAY['valid'::text, 'no_secret'::text, 'no_header'::text, 'malformed'::text, 'mismatch'::text, 'out_of_tolerance'::text]))
);
CREATE INDEX receipts_by_notification ON receipts USING btree (org_id, notification_id, receipt_id) WHERE (notification_id IS NOT NULL);
CREATE INDEX receipts_by_order ON receipts USING btree (org_id, order_id, receipt_id) WHERE (order_id IS NOT NULL);
CREATE INDEX receipts_refused ON receipts USING btree (org_id, endpoint_id, received_at) WHERE (signature <> 'valid'::text);
CREATE INDEX receipts_with_body ON receipts USING btree (org_id, received_at) WHERE (body IS NOT NULL);

CREATE TABLE reconciliation_cases (
    org_id bigint NOT NULL,
    case_id uuid NOT NULL,
    order_id uuid NOT NULL,
    kind text NOT NULL,
    fact text NOT NULL,
    reason text NOT NULL,
    state text NOT NULL,
    owner text NOT NULL,
    corrector text NOT NULL,
    suggestion text NOT NULL,
    evidence jsonb NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    deadline timestamp with time zone NOT NULL,
    decision text,
    decided_by text,
    reason_given text,
    proof text,
    resolved_at timestamp with time zone,
    CONSTRAINT reconciliation_cases_pkey PRIMARY KEY (org_id, case_id),
    CONSTRAINT reconciliation_cases_resolved_is_told CHECK ((state = 'resolved'::text) = (decision IS NOT NULL AND decided_by IS NOT NULL AND resolved_at IS NOT NULL)),
    CONSTRAINT reconciliation_cases_state_check CHECK (state = ANY (ARRAY['open'::text, 'resolved'::text]))
);
CREATE INDEX reconciliation_cases_by_order ON reconciliation_cases USING btree (org_id, order_id, case_id);
CREATE INDEX reconciliation_cases_by_state ON reconciliation_cases USING btree (org_id, state, case_id);
CREATE UNIQUE INDEX reconciliation_cases_open ON reconciliation_cases USING btree (org_id, order_id, kind, fact) WHERE (state = 'open'::text);

CREATE TABLE schema_migrations (
    version integer NOT NULL,
    name text NOT NULL,
    sha256 bytea NOT NULL,
    applied_at timestamp with time zone NOT NULL DEFAULT now(),
    CONSTRAINT schema_migrations_pkey PRIMARY KEY (version)
);

CREATE TABLE step_policies (
    org_id bigint NOT NULL,
    kind text NOT NULL,
    url text NOT NULL,
    honours_keys boolean NOT NULL,
    status_url text,
    secret_sealed bytea,
    owner text NOT NULL,
    corrector text NOT NULL,
    max_attempts integer NOT NULL,
    deadline_seconds bigint NOT NULL,
    updated_at timestamp with time zone NOT NULL DEFAULT now(),
    CONSTRAINT step_policies_pkey PRIMARY KEY (org_id, kind),
    CONSTRAINT step_policies_deadline_seconds_check CHECK (deadline_seconds > 0),
    CONSTRAINT step_policies_kind_check CHECK (kind = ANY (ARRAY['stock_reservation'::text, 'shipment_request'::text, 'confirmation_mail'::text, 'accounting_entry'::text])),
    CONSTRAINT step_policies_max_attempts_check CHECK (max_attempts > 0)
);

CREATE TABLE webhook_endpoints (
    org_id bigint NOT NULL,
    endpoint_id uuid NOT NULL,
    provider text NOT NULL,
    created_at timestamp with time zone NOT NULL DEFAULT now(),
    CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (org_id, endpoint_id),
    CONSTRAINT webhook_endpoints_provider_check CHECK (provider = 'stripe'::text)
);
CREATE INDEX webhook_endpoints_by_id ON webhook_endpoints USING btree (endpoint_id);

CREATE TABLE webhook_secrets (
    org_id bigint NOT NULL,
    endpoint_id uuid NOT NULL,
    label text NOT NULL,
    secret_sealed bytea NOT NULL,
    state text NOT NULL,
    created_at timestamp with time zone NOT NULL DEFAULT now(),
    retires_at timestamp with time zone,
    CONSTRAINT webhook_secrets_pkey PRIMARY KEY (org_id, endpoint_id, label),
    CONSTRAINT webhook_secrets_retiring_has_time CHECK ((state = 'retiring'::text) = (retires_at IS NOT NULL)),
    CONSTRAINT webhook_secrets_state_check CHECK (state = ANY (ARRAY['active'::text, 'retiring'::text]))
);

ALTER TABLE api_keys ADD CONSTRAINT api_keys_org_id_fkey FOREIGN KEY (org_id) REFERENCES orgs(org_id);
ALTER TABLE gateways ADD CONSTRAINT gateways_org_id_fkey FOREIGN KEY (org_id) REFERENCES orgs(org_id);
ALTER TABLE journal ADD CONSTRAINT journal_org_id_order_id_fkey FOREIGN KEY (org_id, order_id) REFERENCES orders(org_id, order_id);
ALTER TABLE operations ADD CONSTRAINT operations_org_id_order_id_fkey FOREIGN KEY (org_id, order_id) REFERENCES orders(org_id, order_id);
ALTER TABLE payments ADD CONSTRAINT payments_org_id_order_id_fkey FOREIGN KEY (org_id, order_id) REFERENCES orders(org_id, order_id);
ALTER TABLE step_policies ADD CONSTRAINT step_policies_org_id_fkey FOREIGN KEY (org_id) REFERENCES orgs(org_id);
ALTER TABLE webhook_endpoints ADD CONSTRAINT webhook_endpoints_org_id_fkey FOREIGN KEY (org_id) REFERENCES orgs(org_id);
ALTER TABLE webhook_secrets ADD CONSTRAINT webhook_secrets_org_id_endpoint_id_fkey FOREIGN KEY (org_id, endpoint_id) REFERENCES webhook_endpoints(org_id, endpoint_id);
