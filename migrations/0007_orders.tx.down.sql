DROP TABLE personal_data_rules, customer_erasures, followed_resends, rejected_orders, order_repeats,
    pending_follow_ups, order_follow_ups, order_revisions, pending_cancellations, out_of_stock_reports,
    rider_statuses, order_states, orders;
DROP SEQUENCE order_id_blocks;
