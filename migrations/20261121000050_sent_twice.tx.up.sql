-- Whether the request of an attempt was sent a second time, because an idle connection was
-- closed before a response.
ALTER TABLE attempts ADD COLUMN sent_twice boolean NOT NULL DEFAULT false;
