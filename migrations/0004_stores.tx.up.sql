CREATE SEQUENCE store_ids AS bigint;

CREATE TABLE stores (
    business_id         bigint NOT NULL REFERENCES businesses (id),
    id                  bigint NOT NULL,
    ref_id              text NOT NULL,
    city                text NOT NULL,
    name                text NOT NULL,
    min_pickup_time     bigint,  -- seconds
    min_delivery_time   bigint,  -- seconds
    contact_phone       text,
    notification_phones text[],
    notification_emails text[],
    min_order_value     numeric,
    hide_from_ui        boolean NOT NULL,
    address             text,
    zip_codes           text[],
    geo_longitude       double precision,
    geo_latitude        double precision,
    active              boolean NOT NULL,
    ordering_enabled    boolean NOT NULL,
    translations        jsonb,
    excluded_platforms  text[],  -- at most one of the two lists is set
    included_platforms  text[],
    platform_data       jsonb,
    timings             jsonb,
    -- Equal for stores with the same opening hours; 0 without any.
    hours_hash          bigint NOT NULL GENERATED ALWAYS AS (
        CASE WHEN coalesce(timings, '[]') = '[]' THEN 0 ELSE jsonb_hash_extended(timings, 0) END
    ) STORED,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    PRIMARY KEY (business_id, id),
    UNIQUE (business_id, ref_id),
    CHECK (excluded_platforms IS NULL OR included_platforms IS NULL)
);

-- For requests of an aggregator that name only its id of a store.
CREATE INDEX stores_platform_data ON stores USING gin (platform_data jsonb_path_ops);

SELECT watch_business_changes('stores');
SELECT enable_rls();
