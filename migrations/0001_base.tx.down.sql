DROP TABLE replicas, sweep_cursors, retentions, clock_epoch, seal_check;
DROP FUNCTION enable_rls();

-- The role itself stays, and so does its grant: other databases of the server may use it.
DO $$
BEGIN
    IF to_regrole('servery_tenant') IS NOT NULL THEN
        EXECUTE format('REVOKE USAGE ON SCHEMA %I FROM servery_tenant', current_schema());
    END IF;
END $$;
