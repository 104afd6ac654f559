-- Where a store is listed that is created without platform lists: on none of the platforms of
-- its business, as the specification has it, or on all of them.
ALTER TABLE businesses ADD COLUMN list_stores text NOT NULL DEFAULT 'none' CHECK (list_stores IN ('none', 'all'));
