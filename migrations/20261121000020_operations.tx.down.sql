DO $$
DECLARE
    tbl text;
BEGIN
    FOREACH tbl IN ARRAY ARRAY['menu_masters', 'menu_links', 'menu_at_store', 'stores'] LOOP
        EXECUTE format('DROP TRIGGER keep_made ON %I', tbl);
        EXECUTE format('DROP TRIGGER keep_changed ON %I', tbl);
        EXECUTE format('DROP TRIGGER keep_removed ON %I', tbl);
    END LOOP;
END $$;
DROP FUNCTION keep_revision();
DROP TABLE revision_parts, revisions;
ALTER TABLE jobs DROP COLUMN actor;
DROP TABLE timed_categories, timing_groups, presence_rules, pos_presence, order_shortages, watches;
DROP INDEX orders_escalated, orders_by_reference;
ALTER TABLE orders DROP COLUMN escalated_at, DROP COLUMN reference;
