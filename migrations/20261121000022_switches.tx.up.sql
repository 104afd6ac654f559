-- Stores that go on and off on a platform, and what goes on again by itself.

-- Whether a store takes orders on a platform, as far as anybody has asked. Without
-- a row it does, if it does at all.
CREATE TABLE store_switches (
    business_id bigint NOT NULL REFERENCES businesses (id),
    store_id    bigint NOT NULL,
    platform    text NOT NULL,
    open        boolean NOT NULL,
    source      text NOT NULL, -- who asked last: api, presence or timer
    reason      text NOT NULL, -- why, in plain words; '' where nobody said
    actor       text NOT NULL, -- such as key:pos
    reference   uuid NOT NULL, -- of the latest request
    at          timestamptz NOT NULL,
    turn_on_at  timestamptz,   -- when it opens by itself; null: it does not
    PRIMARY KEY (business_id, store_id, platform)
) WITH (fillfactor = 70);
CREATE INDEX store_switches_due ON store_switches (turn_on_at) WHERE turn_on_at IS NOT NULL;

-- Items and options that become available at a store again by themselves.
CREATE TABLE item_turn_ons (
    business_id bigint NOT NULL REFERENCES businesses (id),
    store_id    bigint NOT NULL,
    kind        smallint NOT NULL CHECK (kind IN (1, 3)), -- as in menu_masters
    name        text NOT NULL, -- ref_id
    reference   uuid NOT NULL, -- of the request
    actor       text NOT NULL,
    turn_on_at  timestamptz NOT NULL,
    PRIMARY KEY (business_id, store_id, kind, name)
);
CREATE INDEX item_turn_ons_due ON item_turn_ons (turn_on_at);

-- Something else was told to the platform since the publication was claimed, so
-- that nobody knows what it holds.
ALTER TABLE publications ADD COLUMN unsure boolean NOT NULL DEFAULT false;

SELECT wall_off();
