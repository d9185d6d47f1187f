-- exempt: the history of the schema belongs to no organisation.
SELECT to_regclass('schema_migrations') IS NOT NULL AS present
