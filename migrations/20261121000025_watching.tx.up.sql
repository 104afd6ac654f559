-- Revisions are found by what they changed, and by the store whose values they did.
-- Behind the wall no index of arrays may be used: its operators could tell of rows
-- that are not seen.
CREATE INDEX revision_parts_by_entity ON revision_parts USING gin (ids);
CREATE INDEX revision_parts_by_store ON revision_parts (business_id, store_id, revision_id);

-- How a business is watched over, where that is not as the hub does it.
ALTER TABLE presence_rules
    ADD COLUMN ack_within_s   integer,     -- how long its orders may wait for their acknowledgement; 0: for ever, null: as the hub says
    ADD COLUMN silent_after_s integer,     -- how long nothing may be heard of its POS; likewise
    ADD COLUMN orders_seen_to timestamptz; -- up to which placing its orders were looked at; null: as those of the others
-- Whether stores are closed for the silence of their POS. What should be so and is
-- not, is still to be done.
ALTER TABLE pos_presence ADD COLUMN closed boolean NOT NULL DEFAULT false;
UPDATE pos_presence p SET closed = true FROM presence_rules r
WHERE r.business_id = p.business_id AND r.close_silent AND p.silent_since IS NOT NULL;
