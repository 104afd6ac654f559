-- Plugins that an operator removed: no hub runs what is still installed of them. Hubs of
-- an earlier release see them as disabled.
ALTER TABLE plugins ADD COLUMN removed boolean NOT NULL DEFAULT false;
