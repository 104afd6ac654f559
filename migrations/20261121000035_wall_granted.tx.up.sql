-- From PostgreSQL 16 on, who makes a role may grant it, and yet cannot take it before it
-- is granted. So it is granted, whatever membership there is already.

DO $$
BEGIN
    IF to_regrole('servery_tenant') IS NOT NULL THEN
        GRANT servery_tenant TO CURRENT_USER;
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'the role servery_tenant cannot be granted here';
END $$;

SELECT wall_off();
