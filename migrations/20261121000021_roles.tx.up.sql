-- The second wall between businesses: a role that sees the rows of one business
-- alone, the one that the setting servery.business names. Hubs take it for the
-- statements that answer a business; a statement that forgets its business then sees
-- no other one. Their own role owns the tables, which policies do not bind.
-- Where the hub may not make roles, the wall is missing until somebody who may has run
-- CREATE ROLE servery_tenant NOLOGIN and granted it to the role of the hub, which then
-- runs SELECT wall_off().

DO $$
BEGIN
    IF to_regrole('servery_tenant') IS NULL THEN
        BEGIN
            CREATE ROLE servery_tenant NOLOGIN;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL; -- by the hub of another database of this server
        WHEN insufficient_privilege THEN
            RAISE NOTICE 'the role servery_tenant cannot be made here';
        END;
    END IF;
    IF to_regrole('servery_tenant') IS NULL THEN
        RETURN;
    END IF;
    IF NOT pg_has_role(current_user, 'servery_tenant', 'MEMBER') THEN
        BEGIN
            EXECUTE format('GRANT servery_tenant TO %I', current_user);
        EXCEPTION WHEN insufficient_privilege THEN
            RAISE NOTICE 'the role servery_tenant cannot be granted here';
        END;
    END IF;
END $$;

-- Gives every table of businesses its policy; later migrations call it for what
-- they add. What it has done already it leaves.
CREATE FUNCTION wall_off() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    owned record;
BEGIN
    IF to_regrole('servery_tenant') IS NULL THEN
        RETURN;
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO servery_tenant', current_schema());
    FOR owned IN
        SELECT c.oid::regclass AS name, CASE c.relname WHEN 'businesses' THEN 'id' ELSE 'business_id' END AS business
        FROM pg_class c
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
            AND (c.relname = 'businesses' OR EXISTS (
                SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'business_id' AND NOT a.attisdropped))
            AND NOT EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'own_business')
    LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', owned.name);
        EXECUTE format('CREATE POLICY own_business ON %s TO servery_tenant USING (%I = current_setting(''servery.business'')::bigint)', owned.name, owned.business);
        EXECUTE format('GRANT SELECT ON %s TO servery_tenant', owned.name);
    END LOOP;
END $$;

SELECT wall_off();

-- The audit trail is only ever added to, by anybody.
CREATE FUNCTION keep_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail is only added to' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER only_added_to BEFORE UPDATE OR DELETE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION keep_audit();
DO $$
BEGIN
    REVOKE UPDATE, DELETE, TRUNCATE ON audit FROM PUBLIC;
    EXECUTE format('REVOKE UPDATE, DELETE, TRUNCATE ON audit FROM %I', current_user);
END $$;
