-- exempt: the history of the schema belongs to no organisation.
SELECT version, name, sha256 FROM schema_migrations ORDER BY version
