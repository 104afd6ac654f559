-- The menu. Ids come in blocks of 16384, so that a request takes them at once.
CREATE SEQUENCE menu_id_blocks AS bigint START 16384 INCREMENT BY 16384;

-- Master records of all six kinds: 0 categories, 1 items, 2 option groups,
-- 3 options, 4 taxes, 5 charges. The record is kept as it is read back; beside
-- it stand the columns that requests look for.
CREATE TABLE menu_masters (
    business_id bigint NOT NULL REFERENCES businesses (id),
    kind        smallint NOT NULL CHECK (kind BETWEEN 0 AND 5),
    id          bigint NOT NULL,
    name        text NOT NULL,           -- ref_id; of taxes and charges what identifies them
    active      boolean NOT NULL,
    parent_id   bigint NOT NULL,         -- of a sub-category; else 0
    all_items   boolean NOT NULL,        -- of a tax or charge that falls on every item
    record      json NOT NULL,
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (business_id, kind, id),
    UNIQUE (business_id, kind, name)
);
CREATE INDEX menu_masters_children ON menu_masters (business_id, parent_id) WHERE parent_id <> 0;

-- Associations: 0 item to category, 1 group to item, 2 option to group,
-- 3 option to the group nested under it, 4 tax to item, 5 charge to item.
CREATE TABLE menu_links (
    business_id bigint NOT NULL,
    relation    smallint NOT NULL CHECK (relation BETWEEN 0 AND 5),
    from_id     bigint NOT NULL,
    to_id       bigint NOT NULL,
    position    integer NOT NULL,
    PRIMARY KEY (business_id, relation, from_id, to_id)
);
CREATE INDEX menu_links_to ON menu_links (business_id, relation, to_id);

-- References of stores to master records, with the store's own values.
CREATE TABLE menu_at_store (
    business_id bigint NOT NULL,
    store_id    bigint NOT NULL,
    kind        smallint NOT NULL CHECK (kind IN (0, 1, 3)),
    id          bigint NOT NULL,
    content     json NOT NULL,
    PRIMARY KEY (business_id, store_id, kind, id)
);

-- Counts the changes of the master catalogue (store_id 0) and of each store, so
-- that a reader knows without reading whether anything is new.
CREATE TABLE menu_versions (
    business_id bigint NOT NULL,
    store_id    bigint NOT NULL,
    version     bigint NOT NULL,
    PRIMARY KEY (business_id, store_id)
);
