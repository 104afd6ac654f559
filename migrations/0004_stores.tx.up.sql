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
    special_timings     jsonb,   -- hours of dates, which replace timings
    -- Equal for stores with the same opening hours; 0 without any.
    hours_hash          bigint NOT NULL GENERATED ALWAYS AS (
        CASE
            WHEN coalesce(timings, '[]') = '[]' AND coalesce(special_timings, '[]') = '[]' THEN 0
            ELSE jsonb_hash_extended(
                coalesce(special_timings, '[]'),
                jsonb_hash_extended(coalesce(timings, '[]'), 0)
            )
        END
    ) STORED,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    UNIQUE (business_id, ref_id),
    CHECK (excluded_platforms IS NULL OR included_platforms IS NULL)
);
-- Last of the indexes: without statistics PostgreSQL takes the newest of those that seem equal.
-- The id is first, so that a lookup by reference id can use the other index only.
ALTER TABLE stores ADD PRIMARY KEY (id, business_id);

-- special_slots returns the slots of special_timings by date, from a date on.
CREATE FUNCTION special_slots(special_timings jsonb, first date) RETURNS jsonb
LANGUAGE sql STABLE
RETURN (
    SELECT jsonb_object_agg(special.value ->> 'date', special.value -> 'slots')
    FROM jsonb_array_elements(special_timings) special
    WHERE special.value ->> 'date' >= to_char(first, 'YYYY-MM-DD')
);

-- slots_on returns the slots of a date by timings and special_slots. Without timings, a store is always open.
CREATE FUNCTION slots_on(timings jsonb, special jsonb, day date) RETURNS TABLE (start_time text, end_time text)
LANGUAGE sql STABLE
BEGIN ATOMIC
    SELECT slot.start_time, slot.end_time
    FROM (
        SELECT special -> to_char(day, 'YYYY-MM-DD') AS slots
        UNION ALL
        SELECT week.value -> 'slots'
        FROM jsonb_array_elements(
            CASE WHEN special -> to_char(day, 'YYYY-MM-DD') IS NULL THEN timings END
        ) week
        WHERE week.value ->> 'day' = to_char(day, 'FMday')
        UNION ALL
        SELECT '[{"start_time": "00:00:00", "end_time": "23:59:59"}]'
        WHERE coalesce(timings, '[]') = '[]' AND special -> to_char(day, 'YYYY-MM-DD') IS NULL
    ) hours
    CROSS JOIN LATERAL jsonb_to_recordset(hours.slots) AS slot (start_time text, end_time text);
END;

-- open_at reports whether a store is open at a local time, by timings and special_slots, as core.OpeningHours does.
CREATE FUNCTION open_at(timings jsonb, special jsonb, local timestamp) RETURNS boolean
LANGUAGE sql STABLE
RETURN EXISTS (
    SELECT FROM slots_on(timings, special, local::date) slot
    WHERE slot.start_time <= to_char(local, 'HH24:MI:SS')
        AND (
            to_char(local, 'HH24:MI:SS') < slot.end_time
            OR slot.end_time = '23:59:59'
            OR slot.end_time < slot.start_time
        )
) OR EXISTS (
    SELECT FROM slots_on(timings, special, local::date - 1) slot
    WHERE slot.end_time < slot.start_time AND to_char(local, 'HH24:MI:SS') < slot.end_time
);

-- opens_in returns the minutes from a local time until a closed store opens, as if each day had 24 hours. It is null if
-- the store never opens.
CREATE FUNCTION opens_in(timings jsonb, special jsonb, local timestamp) RETURNS bigint
LANGUAGE sql STABLE
RETURN (
    SELECT min(extract(epoch FROM opening.at - date_trunc('minute', local)))::bigint / 60
    FROM (
        -- On a listed date.
        SELECT day.key::date + slot.start_time::time AS at
        FROM jsonb_each(special) day
        CROSS JOIN LATERAL jsonb_to_recordset(day.value) AS slot (start_time text)
        WHERE day.key >= to_char(local, 'YYYY-MM-DD')
        UNION ALL
        -- On each weekday, on the first date that is not listed.
        SELECT date.at
        FROM (
            SELECT
                array_position(
                    ARRAY['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'],
                    hours.value ->> 'day'
                ) - 1 AS weekday,
                slot.start_time::time AS start
            FROM jsonb_array_elements(timings) hours
            CROSS JOIN LATERAL jsonb_to_recordset(hours.value -> 'slots') AS slot (start_time text)
            UNION ALL
            SELECT every.weekday, '00:00' FROM generate_series(0, 6) AS every (weekday)
            WHERE coalesce(timings, '[]') = '[]'
        ) slot
        CROSS JOIN LATERAL (
            SELECT dates.day + slot.start AS at
            FROM generate_series(0, (SELECT count(*)::int FROM jsonb_object_keys(special)) + 1) weeks
            CROSS JOIN LATERAL (
                SELECT local::date + (slot.weekday - extract(dow FROM local)::int + 7) % 7 + 7 * weeks AS day
            ) dates
            WHERE dates.day + slot.start > local AND special -> to_char(dates.day, 'YYYY-MM-DD') IS NULL
            ORDER BY weeks
            LIMIT 1
        ) date
    ) opening
    WHERE opening.at > local
);

-- For requests of an aggregator that name only its id of a store.
CREATE INDEX stores_platform_data ON stores USING gin (platform_data jsonb_path_ops);

SELECT watch_business_changes('stores');
SELECT enable_rls();
