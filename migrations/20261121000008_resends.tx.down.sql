DROP TABLE clock_epoch;
DROP TABLE order_resends;
