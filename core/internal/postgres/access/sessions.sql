-- name: end_old_sessions
DELETE FROM sessions
WHERE
    token_hash = ?replaced
    OR user_id = ?user AND (
        created_at < ?created_before
        OR seen_at < ?seen_before
        OR token_hash IN (
            SELECT token_hash
            FROM sessions
            WHERE user_id = ?user AND token_hash <> ?replaced
            ORDER BY seen_at DESC, created_at DESC
            OFFSET ?kept
        )
    )
