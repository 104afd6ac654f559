DROP TABLE plugin_set_aside, plugin_faults, plugin_hubs, plugins, callback_nonces, callback_keys, plugin_shared,
    platform_findings, platform_aliases, endpoint_rates, platform_values, platform_tokens, platforms;
