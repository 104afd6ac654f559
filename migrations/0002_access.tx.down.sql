DROP TABLE audit, throttles, sign_in_attempts, sign_in_links, sessions, user_grants, users, api_keys,
    business_changes, cache_epochs, businesses;
DROP FUNCTION reject_audit_change();
DROP FUNCTION cache_snapshot();
DROP FUNCTION begin_cache_epoch();
DROP FUNCTION cache_epoch();
DROP FUNCTION watch_business_changes(text);
DROP FUNCTION record_business_changes();
DROP FUNCTION record_business_change();
