DROP TABLE order_states, orders;
DROP SEQUENCE order_id_blocks;
