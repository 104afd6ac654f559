-- Category timings are kept in revisions as menus are: each group with the categories
-- that it had. A group goes by its title, and so does what is kept of it.
CREATE TYPE kept_timing AS (
    business_id  bigint,
    title        text,
    day_slots    text,
    updated_at   timestamptz,
    category_ids bigint[]
);

-- Before a group goes its categories are still there. The kind is that of categories:
-- earlier programs know of none beside those of menus.
CREATE FUNCTION keep_timing() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    revision text := current_setting('servery.revision', true);
    made boolean := TG_OP = 'INSERT';
    kept timing_groups := coalesce(OLD, NEW);
BEGIN
    IF coalesce(revision, '') <> '' THEN
        INSERT INTO revision_parts (business_id, revision_id, tbl, kind, store_id, made, ids, rows)
        SELECT kept.business_id, revision::uuid, TG_TABLE_NAME, 0, 0, made, ARRAY[hashtextextended(kept.title, 0)],
            json_build_array(CASE WHEN made THEN jsonb_build_object('title', kept.title)
                ELSE to_jsonb(kept) || jsonb_build_object('category_ids', ARRAY(SELECT c.category_id FROM timed_categories c
                    WHERE c.business_id = kept.business_id AND c.group_id = kept.id ORDER BY c.category_id)) END);
    END IF;
    RETURN coalesce(NEW, OLD);
END $$;
CREATE TRIGGER keep_made AFTER INSERT ON timing_groups FOR EACH ROW EXECUTE FUNCTION keep_timing();
CREATE TRIGGER keep_changed BEFORE UPDATE OR DELETE ON timing_groups FOR EACH ROW EXECUTE FUNCTION keep_timing();
