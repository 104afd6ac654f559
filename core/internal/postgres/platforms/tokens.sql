-- Tokens of credentials, and rate limits of endpoints.

-- name: lease_tokens
-- Takes the lease of the tokens of a credential. No row while another owner has it. A lease that ends over a
-- minute later than a new one would is from before the clock was set: clocks of replicas differ less.
INSERT INTO platform_tokens AS stored (business_id, platform, credential, store_ref_id, leased_by, leased_until)
VALUES (?business, ?platform, ?credential, ?store, ?owner, ?until)
ON CONFLICT (business_id, platform, credential, store_ref_id) DO UPDATE
SET leased_by = excluded.leased_by, leased_until = excluded.leased_until
WHERE stored.leased_until <= ?now
    OR stored.leased_until > ?until::timestamptz + interval '1 minute'
    OR stored.leased_by = excluded.leased_by
RETURNING stored.id, stored.version, stored.sealed

-- name: save_tokens
-- Stores renewed tokens, unless others were stored since the lease began, and ends the lease.
UPDATE platform_tokens
SET
    sealed = ?sealed,
    version = version + 1,
    renewed_at = ?renewed_at,
    expires_at = ?expires_at,
    failed_at = NULL,
    failure = '',
    leased_until = CASE
        WHEN leased_by = ?owner THEN '-infinity'
        ELSE leased_until
    END
WHERE business_id = ?business
    AND platform = ?platform
    AND credential = ?credential
    AND store_ref_id = ?store
    AND version = ?version

-- name: release_tokens
-- Ends the lease of tokens, and records why their renewal failed.
UPDATE platform_tokens
SET
    leased_until = '-infinity',
    failed_at = CASE
        WHEN ?reason = '' THEN failed_at
        ELSE ?now
    END,
    failure = CASE
        WHEN ?reason = '' THEN failure
        ELSE left(?reason, 500)
    END
WHERE business_id = ?business
    AND platform = ?platform
    AND credential = ?credential
    AND store_ref_id = ?store
    AND leased_by = ?owner

-- name: reserve_rate
-- Reserves the next request to an endpoint, and returns its time. No row if that is too late. A time over a minute
-- further in the future than any reservation is from before the clock was set: clocks of replicas differ less.
INSERT INTO endpoint_rates AS stored (business_id, platform, endpoint, subject, next_at)
VALUES (?business, ?platform, ?endpoint, ?subject, ?now::timestamptz + ?interval * interval '1 microsecond')
ON CONFLICT (business_id, platform, endpoint, subject) DO UPDATE
SET next_at = CASE
        WHEN stored.next_at > ?latest::timestamptz + interval '1 minute'
            + (?tolerance + ?interval) * interval '1 microsecond' THEN ?now
        ELSE greatest(stored.next_at, ?now::timestamptz)
    END + ?interval * interval '1 microsecond'
WHERE stored.next_at - ?tolerance * interval '1 microsecond' <= ?latest::timestamptz
    OR stored.next_at > ?latest::timestamptz + interval '1 minute'
        + (?tolerance + ?interval) * interval '1 microsecond'
RETURNING greatest(stored.next_at - (?interval + ?tolerance) * interval '1 microsecond', ?now::timestamptz)

-- name: sweep_rates
-- Deletes rates of stores and orders whose last request has left the limit over a minute ago. Concurrent replicas skip
-- the rows of each other.
DELETE FROM endpoint_rates
WHERE (business_id, platform, endpoint, subject) IN (
    SELECT business_id, platform, endpoint, subject
    FROM endpoint_rates
    WHERE subject <> '' AND next_at < ?now::timestamptz - interval '1 minute'
    ORDER BY next_at
    LIMIT ?most
    FOR UPDATE SKIP LOCKED
)
