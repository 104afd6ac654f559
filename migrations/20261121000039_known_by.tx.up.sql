-- What attempts say that began before it is of an earlier address, or of earlier
-- headers: it says nothing of the webhook as it is now.
ALTER TABLE endpoint_health ADD COLUMN anew_at timestamptz;

-- What was done to one thing.
CREATE INDEX audit_of_object ON audit (business_id, object, id);

-- Whether what platforms have of the menus of a business has changed.
CREATE INDEX publications_settled ON publications (business_id, settled_at);
