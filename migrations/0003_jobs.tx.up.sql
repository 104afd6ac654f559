-- Bulk requests: jobs has all of them, job_queue only the unfinished ones.

CREATE TABLE jobs (
    business_id  bigint NOT NULL REFERENCES businesses (id),
    id           uuid NOT NULL,                  -- the reference of the request
    kind         text NOT NULL,
    subject      text NOT NULL DEFAULT '',       -- such as a location_ref_id
    state        text NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed')),
    body         bytea NOT NULL,                 -- the request, compressed with Zstandard when large
    callback_url text NOT NULL DEFAULT '',
    dry_run      boolean NOT NULL DEFAULT false, -- reports what it would change, and changes nothing
    request_id   text NOT NULL DEFAULT '',
    actor        text NOT NULL DEFAULT '',       -- who requested it, such as key:pos
    created_at   timestamptz NOT NULL,
    started_at   timestamptz,
    finished_at  timestamptz,
    attempts     integer NOT NULL DEFAULT 0,
    progress     integer NOT NULL DEFAULT 0,     -- finished objects
    total        integer NOT NULL DEFAULT 0,     -- all objects
    cursor       jsonb,                          -- where a job of many transactions continues
    error        text NOT NULL DEFAULT '',
    result       jsonb,
    event_id     uuid,                           -- the callback
    rerun_of     uuid,                           -- the job whose request this one runs again
    trace        text                            -- traceparent of W3C Trace Context; null: none
);
ALTER TABLE jobs ALTER COLUMN body SET STORAGE EXTERNAL; -- compressed already
CREATE INDEX jobs_by_kind ON jobs (business_id, kind, id);
CREATE INDEX jobs_failed ON jobs (business_id, id) WHERE state = 'failed';
CREATE INDEX jobs_reruns ON jobs (business_id, rerun_of) WHERE rerun_of IS NOT NULL;
-- A problem has at most one resend that has not ended.
CREATE UNIQUE INDEX jobs_problem_resend ON jobs (business_id, subject)
    WHERE kind = 'problem_resend' AND state IN ('queued', 'running');
-- Jobs in which some objects failed, or orders that were resent, or that missed deliveries to resend.
CREATE INDEX jobs_with_failures ON jobs (business_id, id) WHERE state = 'done' AND NOT dry_run
    AND (kind IN ('stores', 'menu') AND result->'failed' IS NOT NULL
        OR kind = 'timing_groups' AND result->>'errors' <> '0' OR kind = 'order_retry' AND result->>'failed' <> '0'
        OR kind = 'redelivery' AND result->>'skipped' <> '0'
        OR kind = 'problem_resend' AND result->>'delivered' <> result->>'selected');
-- Last of the indexes: without statistics PostgreSQL takes the newest of those that seem equal.
ALTER TABLE jobs ADD PRIMARY KEY (business_id, id);
-- Jobs by their failed objects.
CREATE INDEX jobs_failed_objects ON jobs USING gin ((result->'failed') jsonb_path_ops)
    WHERE result->'failed' IS NOT NULL;

CREATE TABLE job_queue (
    business_id  bigint NOT NULL,
    ordering_key text NOT NULL,             -- its jobs run one by one, by seq
    seq          bigint GENERATED ALWAYS AS IDENTITY,
    job_id       uuid NOT NULL,
    available_at timestamptz NOT NULL,      -- when a worker may claim it: at once, after a pause, or after a lease
    owner        uuid,
    attempts     integer NOT NULL DEFAULT 0,
    PRIMARY KEY (business_id, ordering_key, seq)
);

SELECT enable_rls();
