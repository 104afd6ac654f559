package platforms

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/relay"
)

// ClaimNonce claims a nonce for one request (relay.Nonces).
func (c Callers) ClaimNonce(ctx context.Context, business core.BusinessID, platform string, nonce [sha256.Size]byte,
	until time.Time) (state relay.NonceState, err error) {
	err = c.db.Bun().QueryRowContext(ctx, queries.With("claim_nonce", postgres.Args{"business": business,
		"platform": platform, "nonce": nonce[:], "until": until, "now": c.db.Clock().Now()})).Scan(&state)
	if err != nil {
		return "", fmt.Errorf("claiming a nonce: %w", err)
	}
	return state, nil
}

// KeepNonce remembers a claimed nonce (relay.Nonces).
func (c Callers) KeepNonce(ctx context.Context, business core.BusinessID, platform string, nonce relay.Nonce) error {
	_, err := c.db.Bun().ExecContext(ctx, `UPDATE callback_nonces SET accepted = true, expires_at = ?
		WHERE business_id = ? AND platform = ? AND nonce = ?`, nonce.Until, business, platform, nonce.Hash[:])
	if err != nil {
		return fmt.Errorf("storing a nonce: %w", err)
	}
	return nil
}

// ForgetNonce ends the claim of a nonce (relay.Nonces).
func (c Callers) ForgetNonce(ctx context.Context, business core.BusinessID, platform string, nonce relay.Nonce) error {
	_, err := c.db.Bun().ExecContext(ctx,
		`DELETE FROM callback_nonces WHERE business_id = ? AND platform = ? AND nonce = ? AND NOT accepted`,
		business, platform, nonce.Hash[:])
	if err != nil {
		return fmt.Errorf("releasing a nonce: %w", err)
	}
	return nil
}

// maxExpired bounds the nonces that one statement deletes.
const maxExpired = 10_000

// DeleteExpiredNonces deletes the nonces that need not be remembered.
func (c Callers) DeleteExpiredNonces(ctx context.Context) error {
	for {
		result, err := c.db.Bun().ExecContext(ctx, queries.With("delete_expired_nonces",
			postgres.Args{"now": c.db.Clock().Now(), "most": maxExpired}))
		if err != nil {
			return fmt.Errorf("deleting expired nonces: %w", err)
		}
		if n, err := result.RowsAffected(); err != nil || n < maxExpired {
			return err
		}
	}
}
