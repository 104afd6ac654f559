-- The menu: the catalogue of each business, the overrides of stores, category timings, and revisions.

-- Blocks of 16384 ids, so that a request takes all of its ids at once.
CREATE SEQUENCE menu_id_blocks AS bigint START 16384 INCREMENT BY 16384;

-- The catalogue: 0 categories, 1 items, 2 option groups, 3 options, 4 taxes, 5 charges. The record
-- is stored as it is read back. The other columns are those that statements search by.
CREATE TABLE catalogue_entities (
    business_id bigint NOT NULL REFERENCES businesses (id),
    kind        smallint NOT NULL CHECK (kind BETWEEN 0 AND 5),
    id          bigint NOT NULL,
    name        text NOT NULL,    -- ref_id; of taxes and charges a key of their content
    active      boolean NOT NULL,
    parent_id   bigint NOT NULL,  -- of a sub-category; else 0
    all_items   boolean NOT NULL, -- of a tax or charge that applies to every item
    record      json NOT NULL,
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (business_id, kind, id),
    UNIQUE (business_id, kind, name)
);
CREATE INDEX catalogue_entities_children ON catalogue_entities (business_id, parent_id) WHERE parent_id <> 0;

-- Associations. The relation is 0 item to category, 1 group to item, 2 option to group, 3 option to nested group. It
-- is 4 tax to item, 5 charge to item.
CREATE TABLE menu_links (
    business_id bigint NOT NULL,
    relation    smallint NOT NULL CHECK (relation BETWEEN 0 AND 5),
    from_id     bigint NOT NULL,
    to_id       bigint NOT NULL,
    position    integer NOT NULL,
    PRIMARY KEY (business_id, relation, from_id, to_id)
);
CREATE INDEX menu_links_to ON menu_links (business_id, relation, to_id);

-- The entities that a store sells, with its own values.
CREATE TABLE store_overrides (
    business_id bigint NOT NULL,
    store_id    bigint NOT NULL,
    kind        smallint NOT NULL CHECK (kind IN (0, 1, 3)),
    id          bigint NOT NULL,
    content     json NOT NULL,
    PRIMARY KEY (business_id, store_id, kind, id)
);

-- Counts the changes of the catalogue (store_id 0) and of each store, so that a reader knows
-- whether its copy is current.
CREATE TABLE menu_versions (
    business_id bigint NOT NULL,
    store_id    bigint NOT NULL,
    version     bigint NOT NULL,
    PRIMARY KEY (business_id, store_id)
);

SELECT watch_business_changes('menu_versions');

-- When categories are on sale. A category in several groups is on sale while any of them is.
CREATE TABLE timing_groups (
    business_id bigint NOT NULL REFERENCES businesses (id),
    id          bigint GENERATED ALWAYS AS IDENTITY,
    title       text NOT NULL,
    day_slots   text NOT NULL, -- JSON, as opening hours of stores
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (business_id, id),
    UNIQUE (business_id, title)
);
CREATE TABLE timed_categories (
    business_id bigint NOT NULL,
    group_id    bigint NOT NULL,
    category_id bigint NOT NULL, -- of catalogue_entities
    PRIMARY KEY (business_id, group_id, category_id),
    FOREIGN KEY (business_id, group_id) REFERENCES timing_groups (business_id, id) ON DELETE CASCADE
);

-- Earlier versions of menus and stores. A transaction that changes them names its revision in the setting
-- servery.revision. Triggers record the previous rows, so that no statement can bypass this.
CREATE TABLE revisions (
    business_id bigint NOT NULL,
    id          uuid NOT NULL,
    reference   uuid NOT NULL, -- the job that made the change
    kind        text NOT NULL, -- of that job
    subject     text NOT NULL, -- its location_ref_id
    actor       text NOT NULL, -- who requested it, such as key:pos
    rollback_to uuid,          -- of a rollback: the revision that it restored
    at          timestamptz NOT NULL,
    PRIMARY KEY (business_id, id)
) PARTITION BY RANGE (id);
CREATE TABLE revisions_other PARTITION OF revisions DEFAULT;

CREATE TABLE revision_parts (
    business_id bigint NOT NULL,
    revision_id uuid NOT NULL,
    n           bigint GENERATED ALWAYS AS IDENTITY, -- numbers the changes of one row in order
    table_name  text NOT NULL,
    kind        smallint NOT NULL, -- of the entities, or the relation
    store_id    bigint NOT NULL,   -- 0: of the catalogue
    created     boolean NOT NULL,  -- the rows did not exist before
    ids         bigint[] NOT NULL, -- of the entities; of links the from_id
    rows        json NOT NULL      -- an array of the previous rows
) PARTITION BY RANGE (revision_id);
-- The rows of a first menu are megabytes. Not every server is built with this compression.
DO $$ BEGIN
    ALTER TABLE revision_parts ALTER COLUMN rows SET COMPRESSION lz4, ALTER COLUMN ids SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END $$;
CREATE TABLE revision_parts_other PARTITION OF revision_parts DEFAULT;
CREATE INDEX revision_parts_by_n ON revision_parts (business_id, table_name, n);
CREATE INDEX revision_parts_by_revision ON revision_parts (business_id, revision_id);
-- Under row-level security no index of arrays may be used, because its operators could leak
-- hidden rows. So only statements of the hub's own role use this one.
CREATE INDEX revision_parts_by_entity ON revision_parts USING gin (ids);
CREATE INDEX revision_parts_by_store ON revision_parts (business_id, store_id, revision_id);

CREATE FUNCTION record_revision() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    revision text := current_setting('servery.revision', true);
    created boolean := TG_OP = 'INSERT';
BEGIN
    IF coalesce(revision, '') = '' THEN
        RETURN NULL;
    END IF;
    CASE TG_TABLE_NAME
    WHEN 'catalogue_entities' THEN
        INSERT INTO revision_parts (business_id, revision_id, table_name, kind, store_id, created, ids, rows)
        SELECT c.business_id, revision::uuid, TG_TABLE_NAME, c.kind, 0, created, array_agg(c.id),
            json_agg(CASE WHEN created THEN json_build_object('kind', c.kind, 'id', c.id, 'name', c.name)
                ELSE to_json(c) END)
        FROM changed c GROUP BY c.business_id, c.kind;
    WHEN 'menu_links' THEN
        INSERT INTO revision_parts (business_id, revision_id, table_name, kind, store_id, created, ids, rows)
        SELECT c.business_id, revision::uuid, TG_TABLE_NAME, c.relation, 0, created, array_agg(c.from_id), json_agg(c)
        FROM changed c GROUP BY c.business_id, c.relation;
    WHEN 'store_overrides' THEN
        INSERT INTO revision_parts (business_id, revision_id, table_name, kind, store_id, created, ids, rows)
        SELECT c.business_id, revision::uuid, TG_TABLE_NAME, c.kind, c.store_id, created, array_agg(c.id),
            json_agg(CASE WHEN created THEN json_build_object('store_id', c.store_id, 'kind', c.kind, 'id', c.id)
                ELSE to_json(c) END)
        FROM changed c GROUP BY c.business_id, c.store_id, c.kind;
    WHEN 'stores' THEN
        INSERT INTO revision_parts (business_id, revision_id, table_name, kind, store_id, created, ids, rows)
        SELECT c.business_id, revision::uuid, TG_TABLE_NAME, -1, 0, created, array_agg(c.id),
            json_agg(CASE WHEN created THEN json_build_object('id', c.id, 'ref_id', c.ref_id) ELSE to_json(c) END)
        FROM changed c GROUP BY c.business_id;
    END CASE;
    RETURN NULL;
END $$;

DO $$
DECLARE
    table_name text;
BEGIN
    FOREACH table_name IN ARRAY ARRAY['catalogue_entities', 'menu_links', 'store_overrides', 'stores'] LOOP
        EXECUTE format('CREATE TRIGGER record_insert AFTER INSERT ON %I REFERENCING NEW TABLE AS changed
            FOR EACH STATEMENT EXECUTE FUNCTION record_revision()', table_name);
        EXECUTE format('CREATE TRIGGER record_update AFTER UPDATE ON %I REFERENCING OLD TABLE AS changed
            FOR EACH STATEMENT EXECUTE FUNCTION record_revision()', table_name);
        EXECUTE format('CREATE TRIGGER record_delete AFTER DELETE ON %I REFERENCING OLD TABLE AS changed
            FOR EACH STATEMENT EXECUTE FUNCTION record_revision()', table_name);
    END LOOP;
END $$;

-- A timing group in revisions. Its title identifies it.
CREATE TYPE timing_revision AS (
    business_id  bigint,
    title        text,
    day_slots    text,
    updated_at   timestamptz,
    category_ids bigint[]
);

-- Runs for each row before its deletion, while the group still has its categories.
CREATE FUNCTION record_timing_revision() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    revision text := current_setting('servery.revision', true);
    created boolean := TG_OP = 'INSERT';
    recorded timing_groups := coalesce(OLD, NEW);
BEGIN
    IF coalesce(revision, '') <> '' THEN
        INSERT INTO revision_parts (business_id, revision_id, table_name, kind, store_id, created, ids, rows)
        SELECT recorded.business_id, revision::uuid, TG_TABLE_NAME, 0, 0, created,
            ARRAY[hashtextextended(recorded.title, 0)],
            json_build_array(CASE WHEN created THEN jsonb_build_object('title', recorded.title)
                ELSE to_jsonb(recorded) || jsonb_build_object('category_ids', ARRAY(
                    SELECT c.category_id FROM timed_categories c
                    WHERE c.business_id = recorded.business_id AND c.group_id = recorded.id
                    ORDER BY c.category_id)) END);
    END IF;
    RETURN coalesce(NEW, OLD);
END $$;
CREATE TRIGGER record_insert AFTER INSERT ON timing_groups
    FOR EACH ROW EXECUTE FUNCTION record_timing_revision();
CREATE TRIGGER record_change BEFORE UPDATE OR DELETE ON timing_groups
    FOR EACH ROW EXECUTE FUNCTION record_timing_revision();

SELECT enable_rls();
