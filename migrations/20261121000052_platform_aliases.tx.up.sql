-- Other names of platforms, which clients have fixed in their code. At most one alias of a
-- platform is sent: events name the platform by it.
CREATE TABLE platform_aliases (
    business_id bigint NOT NULL,
    alias       text NOT NULL, -- no platform of the business has this name
    platform    text NOT NULL,
    sent        boolean NOT NULL,
    created_at  timestamptz NOT NULL,
    PRIMARY KEY (business_id, alias),
    FOREIGN KEY (business_id, platform) REFERENCES platforms (business_id, name) ON DELETE CASCADE
);
CREATE UNIQUE INDEX platform_aliases_sent ON platform_aliases (business_id, platform) WHERE sent;

SELECT wall_off();
