DROP TABLE unrouted_events, endpoint_circuits, delivery_queue, attempts, deliveries, problems, events, webhooks;
DROP SEQUENCE leases;
