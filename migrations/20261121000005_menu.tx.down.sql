DROP TABLE menu_versions, menu_at_store, menu_links, menu_masters;
DROP SEQUENCE menu_id_blocks;
