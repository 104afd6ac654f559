-- name: examine
-- The settings of the server and of the role.
SELECT
    current_setting('server_version_num')::int,
    pg_database_size(current_database()),
    has_database_privilege(current_database(), 'TEMPORARY'),
    current_setting('fsync')::bool,
    current_setting('full_page_writes')::bool,
    current_setting('synchronous_commit'),
    current_setting('data_checksums')::bool,
    current_setting('TimeZone'),
    -- Free connections.
    current_setting('max_connections')::int
        - current_setting('superuser_reserved_connections')::int
        - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int,
    -- Whether the last attempt to archive has failed.
    current_setting('archive_mode') <> 'off' AND (
        SELECT coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false)
        FROM pg_stat_archiver
    ),
    -- Whether WAL is archived only when a segment is full.
    current_setting('archive_mode') <> 'off' AND current_setting('archive_timeout') = '0',
    current_setting('is_superuser')::bool
