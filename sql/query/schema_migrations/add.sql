-- exempt: the history of the schema belongs to no organisation.
--
-- $1 version, $2 name, $3 sha256
INSERT INTO schema_migrations (version, name, sha256) VALUES ($1, $2, $3)
