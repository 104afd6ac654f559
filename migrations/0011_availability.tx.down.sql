DROP TABLE presence_rules, pos_presence, unnotified_switches,
    item_timers, item_switches, store_reports, store_workloads, store_switches;
