-- name: place
-- prepare: state text, now timestamptz, order_businesses bigint[], order_ids bigint[], platforms text[], refs text[]
-- prepare: stores bigint[], bulks boolean[], delivery_types text[], flags smallint[], placed_events uuid[]
-- prepare: actors text[], order_due bigint[], kinds text[], unnotified boolean[], customers text[]
-- prepare: id_blocks integer
-- Stores orders with their events and deliveries, in key order, so that concurrent statements do not deadlock. It skips
-- orders that another transaction has stored. It skips all orders of a business with outdated cached values. Returns
-- the positions of the snapshots of such values, the ids of the stored orders, and the first ids of new blocks of ids.
WITH
-- include: stale_values
accepted AS (
    INSERT INTO orders (
        business_id, id, platform, platform_order_id, store_id, state, is_bulk_order, delivery_type, flags, events,
        placed_event, placed_by, created_at, updated_at, scheduled_for, order_type, unnotified,
        customer_hashes
    )
    SELECT
        business,
        id,
        platform,
        ref,
        store,
        ?state::text,
        bulk,
        delivery_type,
        flags,
        1,
        event,
        actor,
        ?now::timestamptz,
        ?now::timestamptz,
        to_timestamp(nullif(due, 0) / 1000.0),
        kind,
        unnotified,
        -- Empty: the customer key could not be opened.
        nullif(customer, '')::bigint[]
    FROM unnest(
        ?order_businesses::bigint[], ?order_ids::bigint[], ?platforms::text[], ?refs::text[], ?stores::bigint[],
        ?bulks::boolean[], ?delivery_types::text[], ?flags::smallint[], ?placed_events::uuid[], ?actors::text[],
        ?order_due::bigint[], ?kinds::text[], ?unnotified::boolean[], ?customers::text[]
    ) AS placed (
        business, id, platform, ref, store, bulk, delivery_type, flags, event, actor, due, kind, unnotified, customer
    )
    WHERE business <> ALL (ARRAY(SELECT business FROM stale))
    ON CONFLICT (business_id, platform, platform_order_id) DO NOTHING
    RETURNING id
),
-- include: stored_rows
SELECT 'stale', position FROM stale
UNION ALL
SELECT 'placed', id FROM accepted
UNION ALL
SELECT 'ids', nextval('order_id_blocks') FROM generate_series(1, ?id_blocks::integer)

-- name: intake_settings
-- The businesses, platforms and stores of orders, and the versions of their menus. An order may name its platform by
-- an alias. The last column is the snapshot of the statement.
SELECT
    wanted.business,
    wanted.platform,
    wanted.store,
    business.currency,
    coalesce(platform.name, ''),
    coalesce(platform.served_by, ''),
    coalesce(sent.alias, ''),
    coalesce(platform.accept, ''),
    coalesce(store.id, 0),
    coalesce(store.name, ''),
    coalesce(store.address, ''),
    coalesce(store.active, false),
    coalesce(store.ordering_enabled, false) AND NOT EXISTS (
        SELECT 1
        FROM store_switches switch
        WHERE switch.business_id = wanted.business
            AND switch.store_id = store.id
            AND switch.platform = platform.name
            AND NOT switch.open
    ),
    store.excluded_platforms,
    store.included_platforms,
    coalesce(
        (
            SELECT data ->> 'platform_store_id'
            FROM jsonb_array_elements(store.platform_data) data
            WHERE data ->> 'name' = platform.name
            LIMIT 1
        ),
        ''
    ),
    coalesce((SELECT version FROM menu_versions WHERE business_id = wanted.business AND store_id = 0), 0),
    coalesce((SELECT version FROM menu_versions WHERE business_id = wanted.business AND store_id = store.id), 0),
    coalesce(store.timings::text, ''),
    coalesce(store.special_timings::text, ''),
    business.timezone,
    store.min_order_value::text,
    business.name,
    store.geo_latitude::text,
    store.geo_longitude::text,
    business.country,
    business.customer_key,
    (SELECT cache_snapshot())
FROM unnest(?businesses::bigint[], ?platforms::text[], ?stores::text[]) AS wanted (business, platform, store)
JOIN businesses business ON business.id = wanted.business
LEFT JOIN platform_aliases alias ON alias.business_id = wanted.business AND alias.alias = wanted.platform
LEFT JOIN platforms platform
    ON platform.business_id = wanted.business AND platform.name = coalesce(alias.platform, wanted.platform)
LEFT JOIN platform_aliases sent
    ON sent.business_id = platform.business_id AND sent.platform = platform.name AND sent.sent
LEFT JOIN stores store ON store.business_id = wanted.business AND store.ref_id = wanted.store

-- name: read_menu_entries
-- Items and options of businesses at stores, with whether a category of the item, or its parent, is inactive. The
-- groups are those of an item, or nested under an option. The last column holds the groups that contain an option.
-- At most 200 groups of an item or under an option are read, so that a huge menu does not delay other orders.
SELECT
    entity.business_id,
    wanted.store,
    entity.kind = 3,
    entity.name,
    entity.id,
    entity.active,
    entity.record,
    override.content,
    EXISTS (
        SELECT 1
        FROM menu_links link
        JOIN catalogue_entities category
            ON category.business_id = link.business_id AND category.kind = 0 AND category.id = link.to_id
        LEFT JOIN catalogue_entities parent
            ON parent.business_id = category.business_id AND parent.kind = 0 AND parent.id = category.parent_id
        WHERE link.business_id = entity.business_id
            AND link.relation = 0
            AND link.from_id = entity.id
            AND NOT (category.active AND coalesce(parent.active, true))
    ),
    ARRAY(
        SELECT link.from_id
        FROM menu_links link
        WHERE entity.kind = 1
            AND link.business_id = entity.business_id
            AND link.relation IN (4, 5)
            AND link.to_id = entity.id
    ),
    ARRAY(
        SELECT finding.platform
        FROM platform_findings finding
        WHERE entity.kind = 1
            AND finding.business_id = entity.business_id
            AND finding.item_id = entity.id
            AND NOT finding.warning
    ),
    (
        SELECT json_agg(
            json_build_object(
                'ID', option_group.id,
                'Title', option_group.record ->> 'title',
                'Active', option_group.active,
                'Max', (option_group.record ->> 'max_selectable')::bigint,
                'Min', CASE
                    WHEN entity.kind = 1 AND EXISTS (
                        SELECT 1
                        FROM menu_links link
                        JOIN store_overrides option
                            ON option.business_id = link.business_id
                            AND option.store_id = wanted.store
                            AND option.kind = 3
                            AND option.id = link.from_id
                        WHERE link.business_id = option_group.business_id
                            AND link.relation = 2
                            AND link.to_id = option_group.id
                    ) THEN (option_group.record ->> 'min_selectable')::bigint
                    ELSE 0
                END
            )
            ORDER BY option_group.id
        )
        FROM (
            SELECT from_id AS id
            FROM menu_links
            WHERE entity.kind = 1 AND business_id = entity.business_id AND relation = 1 AND to_id = entity.id
            UNION ALL
            SELECT to_id
            FROM menu_links
            WHERE entity.kind = 3 AND business_id = entity.business_id AND relation = 3 AND from_id = entity.id
            LIMIT 200
        ) link
        JOIN catalogue_entities option_group
            ON option_group.business_id = entity.business_id AND option_group.kind = 2 AND option_group.id = link.id
    ),
    ARRAY(
        SELECT link.to_id
        FROM menu_links link
        WHERE entity.kind = 3
            AND link.business_id = entity.business_id
            AND link.relation = 2
            AND link.from_id = entity.id
    )
FROM unnest(?businesses::bigint[], ?stores::bigint[], ?kinds::smallint[], ?refs::text[])
    AS wanted (business, store, kind, ref)
JOIN catalogue_entities entity
    ON entity.business_id = wanted.business AND entity.kind = wanted.kind AND entity.name = wanted.ref
LEFT JOIN store_overrides override
    ON override.business_id = wanted.business
    AND override.store_id = wanted.store
    AND override.kind = wanted.kind
    AND override.id = entity.id

-- name: read_taxes_and_charges
-- The active taxes and charges of businesses. The last column says whether a charge names items.
SELECT
    entity.business_id,
    entity.kind = 4,
    entity.id,
    entity.all_items,
    entity.record,
    entity.kind = 5 AND EXISTS (
        SELECT 1
        FROM menu_links link
        WHERE link.business_id = entity.business_id AND link.relation = 5 AND link.from_id = entity.id
    )
FROM catalogue_entities entity
WHERE entity.business_id IN (?businesses) AND entity.kind IN (4, 5) AND entity.active
ORDER BY entity.business_id, entity.kind, entity.name

-- name: waiting_for_orders
-- Whether follow-ups and cancellations wait for orders that have been placed.
WITH
placed AS (
    SELECT *
    FROM unnest(?businesses::bigint[], ?platforms::text[], ?refs::text[]) AS placed (business, platform, ref)
)
SELECT
    EXISTS (
        SELECT 1
        FROM placed
        JOIN pending_follow_ups waiting
            ON waiting.business_id = placed.business
            AND waiting.platform = placed.platform
            AND waiting.platform_order_id = placed.ref
    ),
    EXISTS (
        SELECT 1
        FROM placed
        JOIN pending_cancellations waiting
            ON waiting.business_id = placed.business
            AND waiting.platform = placed.platform
            AND waiting.platform_order_id = placed.ref
    )
