DROP TABLE delivery_queue, attempts, deliveries, events, webhooks;
