-- What a POS does with its orders beyond their states, how long it has been
-- silent, and when categories are on sale.

ALTER TABLE orders
    ADD COLUMN reference    text,        -- what the POS calls it; null while it has not said
    ADD COLUMN escalated_at timestamptz; -- when it had waited too long for its acknowledgement
-- Both are null in a new order: taking orders in does not touch these.
CREATE INDEX orders_by_reference ON orders (business_id, reference, created_at) WHERE reference IS NOT NULL;
CREATE INDEX orders_escalated ON orders (business_id, created_at, id) WHERE escalated_at IS NOT NULL;

-- Up to when a periodic look has gone; whoever looks locks its row.
CREATE TABLE watches (
    name    text PRIMARY KEY,
    seen_to timestamptz NOT NULL
);
INSERT INTO watches (name, seen_to) VALUES ('orders', '2000-01-01'), ('presence', '2000-01-01');

-- Reports that items of an order are out of stock.
CREATE TABLE order_shortages (
    business_id bigint NOT NULL,
    order_id    bigint NOT NULL,
    reference   uuid NOT NULL,    -- of the report, and the id of the call that passes it on
    items       text NOT NULL,    -- JSON
    allow_edit  boolean NOT NULL, -- the platform may let the customer change the order
    actor       text NOT NULL,
    at          timestamptz NOT NULL,
    PRIMARY KEY (business_id, order_id, reference)
);

-- When something was last heard of the POS of a store.
CREATE TABLE pos_presence (
    business_id  bigint NOT NULL,
    store_id     bigint NOT NULL,
    seen_at      timestamptz NOT NULL,
    silent_since timestamptz, -- null: it is not silent
    PRIMARY KEY (business_id, store_id)
) WITH (fillfactor = 50);
CREATE INDEX pos_presence_silent ON pos_presence (business_id, silent_since) WHERE silent_since IS NOT NULL;

-- What is to become of the stores of a business whose POS is silent.
CREATE TABLE presence_rules (
    business_id  bigint PRIMARY KEY REFERENCES businesses (id),
    close_silent boolean NOT NULL
);

-- When categories are on sale. A category in several groups is on sale while any
-- of them is.
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
    category_id bigint NOT NULL, -- of menu_masters
    PRIMARY KEY (business_id, group_id, category_id),
    FOREIGN KEY (business_id, group_id) REFERENCES timing_groups (business_id, id) ON DELETE CASCADE
);

-- What menus and stores were before each change. Whoever changes them names its
-- revision by the setting servery.revision; triggers keep what was there, so that
-- no way of changing them is forgotten.
CREATE TABLE revisions (
    business_id bigint NOT NULL,
    id          uuid NOT NULL,
    reference   uuid NOT NULL, -- the job that made it
    kind        text NOT NULL, -- of that job
    subject     text NOT NULL, -- its location_ref_id
    actor       text NOT NULL, -- who asked for it, such as key:pos
    undoes      uuid,          -- of a rollback: the revision that it went back to
    at          timestamptz NOT NULL,
    PRIMARY KEY (business_id, id)
) PARTITION BY RANGE (id);
CREATE TABLE revisions_other PARTITION OF revisions DEFAULT;

CREATE TABLE revision_parts (
    business_id bigint NOT NULL,
    revision_id uuid NOT NULL,
    n           bigint GENERATED ALWAYS AS IDENTITY, -- changes of one row are in its order
    tbl         text NOT NULL,     -- the table
    kind        smallint NOT NULL, -- of the entities, or the relation
    store_id    bigint NOT NULL,   -- 0: of the master catalogue
    made        boolean NOT NULL,  -- there was nothing before; the rows are those that were made
    ids         bigint[] NOT NULL, -- of the entities; of links those that they go from
    rows        json NOT NULL      -- an array of rows as they were before
) PARTITION BY RANGE (revision_id);
CREATE TABLE revision_parts_other PARTITION OF revision_parts DEFAULT;
CREATE INDEX revision_parts_by_n ON revision_parts (business_id, tbl, n);
CREATE INDEX revision_parts_by_revision ON revision_parts (business_id, revision_id);

CREATE FUNCTION keep_revision() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    revision text := current_setting('servery.revision', true);
    made boolean := TG_OP = 'INSERT';
BEGIN
    IF coalesce(revision, '') = '' THEN
        RETURN NULL;
    END IF;
    CASE TG_TABLE_NAME
    WHEN 'menu_masters' THEN
        INSERT INTO revision_parts (business_id, revision_id, tbl, kind, store_id, made, ids, rows)
        SELECT c.business_id, revision::uuid, TG_TABLE_NAME, c.kind, 0, made, array_agg(c.id),
            json_agg(CASE WHEN made THEN json_build_object('kind', c.kind, 'id', c.id, 'name', c.name) ELSE to_json(c) END)
        FROM changed c GROUP BY c.business_id, c.kind;
    WHEN 'menu_links' THEN
        INSERT INTO revision_parts (business_id, revision_id, tbl, kind, store_id, made, ids, rows)
        SELECT c.business_id, revision::uuid, TG_TABLE_NAME, c.relation, 0, made, array_agg(c.from_id), json_agg(c)
        FROM changed c GROUP BY c.business_id, c.relation;
    WHEN 'menu_at_store' THEN
        INSERT INTO revision_parts (business_id, revision_id, tbl, kind, store_id, made, ids, rows)
        SELECT c.business_id, revision::uuid, TG_TABLE_NAME, c.kind, c.store_id, made, array_agg(c.id),
            json_agg(CASE WHEN made THEN json_build_object('store_id', c.store_id, 'kind', c.kind, 'id', c.id) ELSE to_json(c) END)
        FROM changed c GROUP BY c.business_id, c.store_id, c.kind;
    WHEN 'stores' THEN
        INSERT INTO revision_parts (business_id, revision_id, tbl, kind, store_id, made, ids, rows)
        SELECT c.business_id, revision::uuid, TG_TABLE_NAME, -1, 0, made, array_agg(c.id),
            json_agg(CASE WHEN made THEN json_build_object('id', c.id, 'ref_id', c.ref_id) ELSE to_json(c) END)
        FROM changed c GROUP BY c.business_id;
    END CASE;
    RETURN NULL;
END $$;

DO $$
DECLARE
    tbl text;
BEGIN
    FOREACH tbl IN ARRAY ARRAY['menu_masters', 'menu_links', 'menu_at_store', 'stores'] LOOP
        EXECUTE format('CREATE TRIGGER keep_made AFTER INSERT ON %I REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION keep_revision()', tbl);
        EXECUTE format('CREATE TRIGGER keep_changed AFTER UPDATE ON %I REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION keep_revision()', tbl);
        EXECUTE format('CREATE TRIGGER keep_removed AFTER DELETE ON %I REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION keep_revision()', tbl);
    END LOOP;
END $$;

ALTER TABLE jobs ADD COLUMN actor text NOT NULL DEFAULT ''; -- who asked for it, such as key:pos
