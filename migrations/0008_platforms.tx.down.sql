DROP TABLE plugin_hubs, plugins, callback_keys, platform_findings, platform_aliases, platforms;
