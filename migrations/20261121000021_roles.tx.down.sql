DO $$
BEGIN
    EXECUTE format('GRANT UPDATE, DELETE, TRUNCATE ON audit TO %I', current_user);
END $$;
DROP TRIGGER only_added_to ON audit;
DROP FUNCTION keep_audit();
DROP FUNCTION wall_off();

-- The role itself stays: other databases of the server may use it.
DO $$
DECLARE
    owned record;
BEGIN
    FOR owned IN SELECT polrelid::regclass AS name FROM pg_policy WHERE polname = 'own_business'
    LOOP
        EXECUTE format('DROP POLICY own_business ON %s', owned.name);
        EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', owned.name);
        EXECUTE format('REVOKE SELECT ON %s FROM servery_tenant', owned.name);
    END LOOP;
    IF to_regrole('servery_tenant') IS NOT NULL THEN
        EXECUTE format('REVOKE USAGE ON SCHEMA %I FROM servery_tenant', current_schema());
    END IF;
END $$;
