-- exempt: asks the server about itself.
-- What an acknowledged order's safety hangs on, and the database's clock.
SELECT
    current_setting('server_version_num')::integer AS version,
    current_setting('fsync') AS fsync,
    current_setting('full_page_writes') AS full_page_writes,
    current_setting('synchronous_commit') AS synchronous_commit,
    pg_is_in_recovery() AS in_recovery,
    clock_timestamp() AS now
