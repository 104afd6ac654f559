-- Row-level security between businesses, and the state of the database itself. Each tenant table has business_id
-- first, so that a distributing extension can shard by it.

-- The tenant role sees the rows of one business, which the setting servery.business names. Hubs take the role for
-- requests of a business. A statement without a condition on business_id then returns no rows of another business.
-- The role of the hub owns the tables, and policies do not apply to it.
--
-- If the hub may not create roles, row-level security is off. An administrator turns it on: run CREATE ROLE
-- servery_tenant NOLOGIN, grant it to the role of the hub, and run SELECT enable_rls() as the hub.
DO $$
BEGIN
    IF to_regrole('servery_tenant') IS NULL THEN
        BEGIN
            CREATE ROLE servery_tenant NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL; -- created meanwhile by the hub of another database of this server
        WHEN insufficient_privilege THEN
            RAISE NOTICE 'the role servery_tenant cannot be created here';
        END;
    END IF;
    -- From PostgreSQL 16 on, the creator of a role may grant it but not take it before it is
    -- granted. So it is granted in any case.
    IF to_regrole('servery_tenant') IS NOT NULL THEN
        BEGIN
            GRANT servery_tenant TO CURRENT_USER;
        EXCEPTION WHEN insufficient_privilege THEN
            RAISE NOTICE 'the role servery_tenant cannot be granted here';
        END;
    END IF;
END $$;

-- Creates the policy of each tenant table that has none. A migration that adds a tenant table calls it at the end.
CREATE FUNCTION enable_rls() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    tenant record;
BEGIN
    IF to_regrole('servery_tenant') IS NULL THEN
        RETURN;
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO servery_tenant', current_schema());
    FOR tenant IN
        SELECT c.oid::regclass AS name, CASE c.relname WHEN 'businesses' THEN 'id' ELSE 'business_id' END AS business
        FROM pg_class c
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            AND (c.relname = 'businesses' OR EXISTS (
                SELECT FROM pg_attribute a
                WHERE a.attrelid = c.oid AND a.attname = 'business_id' AND NOT a.attisdropped))
            AND NOT EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'tenant_isolation')
    LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', tenant.name);
        EXECUTE format('CREATE POLICY tenant_isolation ON %s TO servery_tenant
            USING (%I = current_setting(''servery.business'')::bigint)', tenant.name, tenant.business);
        EXECUTE format('GRANT SELECT ON %s TO servery_tenant', tenant.name);
    END LOOP;
END $$;

-- One row: a value sealed with the key of this database. A hub with another key does not start. Otherwise it would
-- fail at the first delivery.
CREATE TABLE seal_check (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    sealed   bytea NOT NULL
);

-- The number of times that the clock of the database was set. The first replica that notices it moves the due times
-- for all. A replica that is behind read_at, the last time that one read since, was paused itself.
CREATE TABLE clock_epoch (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    epoch    bigint NOT NULL,
    read_at  timestamptz
);
INSERT INTO clock_epoch (epoch) VALUES (1);

-- The retention settings of hubs, and when a hub with each was last seen. The longest recent one
-- applies.
CREATE TABLE retentions (
    seconds bigint PRIMARY KEY,
    seen_at timestamptz NOT NULL
);

-- The cursors of periodic checks. A replica locks the row of the check that it runs.
CREATE TABLE sweep_cursors (
    name          text PRIMARY KEY,
    checked_until timestamptz NOT NULL
);
INSERT INTO sweep_cursors (name, checked_until) VALUES ('orders', '2000-01-01'), ('presence', '2000-01-01');

-- The replicas that process work, each with the key of the advisory lock that its session holds. After the lock was
-- free for a second, another replica ends the leases of the owner.
CREATE TABLE replicas (
    owner       uuid PRIMARY KEY,     -- in leases
    session_key bigint NOT NULL,      -- a new one for each session
    started_at  timestamptz NOT NULL,
    ended_at    timestamptz           -- when its leases were ended; null: it has them
);
