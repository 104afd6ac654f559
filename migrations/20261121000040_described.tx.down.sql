ALTER TABLE plugin_hubs DROP COLUMN about;
ALTER TABLE plugins DROP COLUMN published_about;
