-- Deliveries are asked for by the reference of a request.
CREATE INDEX events_by_reference ON events (business_id, reference) WHERE reference <> '';
