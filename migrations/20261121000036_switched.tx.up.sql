-- What was last said of whether items and options are available at a store, by a
-- request to switch them, and when: a menu request that was accepted before does not
-- undo it, and a rollback to before takes its timer away.
CREATE TABLE item_switches (
    business_id bigint NOT NULL REFERENCES businesses (id),
    store_id    bigint NOT NULL,
    kind        smallint NOT NULL CHECK (kind IN (1, 3)), -- as in menu_masters
    name        text NOT NULL, -- ref_id
    available   boolean NOT NULL,
    at          timestamptz NOT NULL, -- of the request, also where its timer has turned the thing on since
    PRIMARY KEY (business_id, store_id, kind, name)
) WITH (fillfactor = 70);

SELECT wall_off();
