-- Business steps after the payment, and whom they concern.

-- To whom a step was sent, and on what terms: somebody else knows nothing of it.
ALTER TABLE operations ADD COLUMN target_sha256 bytea;

-- What is to be done for a confirmed order, by whom, and the answers to the questions that decide what happens when it goes
-- wrong. Which key identifies the work: the operation's own.
CREATE TABLE step_policies (
    org_id           bigint      NOT NULL,
    kind             text        NOT NULL CHECK (kind IN (
        'stock_reservation', 'shipment_request', 'confirmation_mail', 'accounting_entry'
    )),
    url              text        NOT NULL,
    -- Whether a call under the same key returns the earlier result.
    honours_keys     boolean     NOT NULL,
    -- Where it can be asked whether it happened.
    status_url       text,
    -- What calls are signed with; sealed.
    secret_sealed    bytea,
    -- Who is told when nobody can know.
    owner            text        NOT NULL,
    -- Who carries out a cancellation or a correction.
    corrector        text        NOT NULL,
    max_attempts     integer     NOT NULL CHECK (max_attempts > 0),
    deadline_seconds bigint      NOT NULL CHECK (deadline_seconds > 0),
    updated_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (org_id, kind),
    FOREIGN KEY (org_id) REFERENCES orgs (org_id)
);
