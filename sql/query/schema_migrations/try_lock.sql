-- exempt: the history of the schema belongs to no organisation.
-- One migration at a time on a database. The number is ours alone ("ichido" in ASCII). Held by the session.
SELECT pg_try_advisory_lock(115875674416239) AS locked
