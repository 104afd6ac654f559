-- jobs keeps every job; job_queue holds only what is still to do.

CREATE TABLE jobs (
    business_id  bigint NOT NULL REFERENCES businesses (id),
    id           uuid NOT NULL,             -- the reference of the request
    kind         text NOT NULL,
    subject      text NOT NULL DEFAULT '',  -- such as a location_ref_id
    state        text NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed')),
    body         bytea NOT NULL,            -- the request, Zstandard-packed when large
    callback_url text NOT NULL DEFAULT '',
    dry_run      boolean NOT NULL DEFAULT false, -- tells what it would do, and does nothing
    request_id   text NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL,
    started_at   timestamptz,
    finished_at  timestamptz,
    attempts     integer NOT NULL DEFAULT 0,
    progress     integer NOT NULL DEFAULT 0, -- objects done
    total        integer NOT NULL DEFAULT 0, -- objects in all
    error        text NOT NULL DEFAULT '',
    result       jsonb,
    event_id     uuid,                       -- the callback
    PRIMARY KEY (business_id, id)
);
ALTER TABLE jobs ALTER COLUMN body SET STORAGE EXTERNAL; -- packed already
CREATE INDEX jobs_by_kind ON jobs (business_id, kind, id);

CREATE TABLE job_queue (
    business_id  bigint NOT NULL,
    kind         text NOT NULL,
    seq          bigint GENERATED ALWAYS AS IDENTITY, -- order within business and kind
    job_id       uuid NOT NULL,
    available_at timestamptz NOT NULL, -- when a worker may take it: at once, after a pause, or at the end of a lease
    owner        uuid,
    attempts     integer NOT NULL DEFAULT 0,
    PRIMARY KEY (business_id, kind, seq)
);
