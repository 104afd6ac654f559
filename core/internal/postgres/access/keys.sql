-- name: keys_by_hash
-- prepare: hashes bytea[]
SELECT key_hash, business_id, id, username, scope, coalesce(platform, ''), disabled_at, (SELECT cache_snapshot())
FROM api_keys
WHERE key_hash = ANY (?hashes)
