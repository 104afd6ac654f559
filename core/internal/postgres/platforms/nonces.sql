-- name: claim_nonce
-- The state of a nonce. A new or expired one is claimed. One that another transaction just claimed is pending.
WITH claimed AS (
    INSERT INTO callback_nonces AS known (business_id, platform, nonce, accepted, expires_at)
    VALUES (?business, ?platform, ?nonce, false, ?until)
    ON CONFLICT (business_id, platform, nonce) DO UPDATE
    SET accepted = false, expires_at = excluded.expires_at
    WHERE known.expires_at < ?now
    RETURNING nonce
)
SELECT CASE
    WHEN EXISTS (SELECT FROM claimed) THEN 'claimed'
    WHEN EXISTS (
        SELECT
        FROM callback_nonces
        WHERE business_id = ?business AND platform = ?platform AND nonce = ?nonce AND accepted
    ) THEN 'accepted'
    ELSE 'pending'
END

-- name: delete_expired_nonces
-- Concurrent replicas skip the rows of each other.
DELETE FROM callback_nonces
WHERE (business_id, platform, nonce) IN (
    SELECT business_id, platform, nonce
    FROM callback_nonces
    WHERE expires_at < ?now
    ORDER BY expires_at
    LIMIT ?most
    FOR UPDATE SKIP LOCKED
)
