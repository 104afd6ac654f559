DROP TABLE seal_check, audit, throttles, platforms, api_keys, businesses;
