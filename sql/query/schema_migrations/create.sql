-- exempt: the history of the schema belongs to no organisation.
CREATE TABLE IF NOT EXISTS schema_migrations (
    version    integer     PRIMARY KEY,
    name       text        NOT NULL,
    sha256     bytea       NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)
