DROP TABLE audit, throttles, sign_in_attempts, sign_in_links, sessions, user_grants, users, api_keys, businesses;
DROP FUNCTION reject_audit_change();
