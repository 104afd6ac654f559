-- What platforms were told of a store beside its menu is read by the store.
CREATE INDEX calls_of_line ON calls (business_id, line, place) WHERE order_id = 0;
