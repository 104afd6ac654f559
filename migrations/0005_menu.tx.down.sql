DROP TABLE revision_parts, revisions, timed_categories, timing_groups, menu_versions, store_overrides, menu_links,
    catalogue_entities;
DROP TRIGGER record_insert ON stores;
DROP TRIGGER record_update ON stores;
DROP TRIGGER record_delete ON stores;
DROP FUNCTION record_timing_revision();
DROP FUNCTION record_revision();
DROP TYPE timing_revision;
DROP SEQUENCE menu_id_blocks;
