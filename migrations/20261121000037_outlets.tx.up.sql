-- By which id a platform knew the store when it last took a menu of it: an id of its own,
-- else the ref_id. Under that id the store is on sale there. Null: no menu was taken, or
-- nobody noted it.
ALTER TABLE publications ADD COLUMN outlet text;
UPDATE publications p SET outlet = coalesce((SELECT nullif(d ->> 'platform_store_id', '') FROM jsonb_array_elements(s.platform_data) d
        WHERE d ->> 'name' = p.platform LIMIT 1), s.ref_id)
    FROM stores s WHERE s.business_id = p.business_id AND s.id = p.store_id AND p.published_at IS NOT NULL;
