package platforms

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/credential"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/relay"
)

// Tokens stores the tokens of credentials (credential.Store).
type Tokens struct{ db *postgres.DB }

// NewTokens returns Tokens that use db.
func NewTokens(db *postgres.DB) Tokens { return Tokens{db} }

// TokensAssociatedData returns the associated data of a credential's sealed tokens.
func TokensAssociatedData(business core.BusinessID, id string) string {
	return fmt.Sprintf("platform_tokens/%d/%s", business, id)
}

// Lease takes the right to renew tokens until a time. It returns false while another owner has it.
func (t Tokens) Lease(ctx context.Context, key credential.Key, owner core.ID,
	until time.Time) (lease credential.Lease, taken bool, err error) {
	var sealed []byte
	err = t.db.Keyed().QueryRowContext(ctx, queries.With("lease_tokens", postgres.Args{
		"business": key.Business, "platform": key.Platform, "credential": key.Credential, "store": key.Store,
		"owner": owner, "now": t.db.Clock().Now(), "until": until,
	})).Scan(&lease.ID, &lease.Version, &sealed)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return lease, false, nil
	case postgres.IsCode(err, "23503"):
		return lease, false, core.Errorf(core.NotFound, "the business has no platform %q", key.Platform)
	case err != nil:
		return lease, false, fmt.Errorf("leasing the tokens of credential %s: %w", key.Credential, err)
	case sealed == nil:
		return lease, true, nil
	}
	plain, err := t.db.Sealer().Open(TokensAssociatedData(key.Business, fmt.Sprint(lease.ID)), sealed)
	if err == nil {
		err = json.Unmarshal(plain, &lease.Tokens)
	}
	if err != nil {
		return lease, false, errors.Join(fmt.Errorf("decrypting the tokens of credential %s: %w", key.Credential, err),
			t.Release(ctx, key, owner, "the stored tokens cannot be decrypted"))
	}
	return lease, true, nil
}

// Save stores renewed tokens and ends the lease. It returns false, and stores nothing, if others were stored since the
// lease began.
func (t Tokens) Save(ctx context.Context, key credential.Key, owner core.ID,
	lease credential.Lease) (stored bool, err error) {
	plain, err := json.Marshal(lease.Tokens)
	if err != nil {
		return false, err
	}
	err = t.db.InKeyedTx(ctx, func(tx bun.Conn) error {
		sealed, err := t.db.SealIn(ctx, tx, TokensAssociatedData(key.Business, fmt.Sprint(lease.ID)), plain)
		if err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, queries.With("save_tokens", postgres.Args{
			"business": key.Business, "platform": key.Platform, "credential": key.Credential, "store": key.Store,
			"owner": owner, "version": lease.Version, "sealed": sealed, "renewed_at": lease.Tokens.RenewedAt,
			"expires_at": bun.NullTime{Time: lease.Tokens.ExpiresAt},
		}))
		if err != nil {
			return fmt.Errorf("storing the tokens of credential %s: %w", key.Credential, err)
		}
		rows, err := result.RowsAffected()
		stored = rows > 0
		return err
	})
	return stored && err == nil, err
}

// Release ends the lease. A reason other than "" is why the renewal failed.
func (t Tokens) Release(ctx context.Context, key credential.Key, owner core.ID, reason string) error {
	return postgres.Exec(ctx, t.db.Keyed(), "releasing the tokens of credential "+key.Credential,
		queries.With("release_tokens", postgres.Args{
			"business": key.Business, "platform": key.Platform, "credential": key.Credential, "store": key.Store,
			"owner": owner, "now": t.db.Clock().Now(), "reason": postgres.CleanText(reason),
		}))
}

// dropTokens deletes the tokens of a platform.
func (p Store) dropTokens(ctx context.Context, tx bun.Conn, business core.BusinessID, platform string) error {
	return postgres.Exec(ctx, tx, "deleting the tokens of platform "+platform,
		`DELETE FROM platform_tokens WHERE business_id = ? AND platform = ?`, business, platform)
}

// dropStoreTokens deletes the tokens of stores that have no own secret anymore.
func (p Store) dropStoreTokens(ctx context.Context, tx bun.Conn, c platformChange) error {
	var stores []string
	for name := range c.access.Secrets {
		if _, store, own := strings.Cut(name, relay.StoreSecret("", "")); own {
			stores = append(stores, store)
		}
	}
	return postgres.Exec(ctx, tx, "deleting the tokens of stores",
		`DELETE FROM platform_tokens WHERE business_id = ? AND platform = ?
		AND store_ref_id <> '' AND store_ref_id <> ALL (?::text[])`, c.business, c.platform.Name,
		postgres.Array(stores))
}

// TokenState is the state of the tokens of a credential. It has no tokens.
type TokenState struct {
	Platform   string    `json:"-"`
	Credential string    `json:"credential"`
	Store      string    `json:"store_ref_id,omitzero"`
	RenewedAt  time.Time `json:"renewed_at,omitzero"`
	ExpiresAt  time.Time `json:"expires_at,omitzero"`
	FailedAt   time.Time `json:"failed_at,omitzero"` // the last renewal failed
	Failure    string    `json:"failure,omitzero"`
}

// TokenStates returns the state of all tokens of a business.
func (t Tokens) TokenStates(ctx context.Context, business core.BusinessID) ([]TokenState, error) {
	return postgres.Collect(ctx, t.db.Tenant(business), "reading the state of tokens", func(s *TokenState) []any {
		return []any{&s.Platform, &s.Credential, &s.Store, postgres.OrZero(&s.RenewedAt), postgres.OrZero(&s.ExpiresAt),
			postgres.OrZero(&s.FailedAt), &s.Failure}
	}, bun.SafeQuery(`SELECT platform, credential, store_ref_id, renewed_at, expires_at, failed_at, failure
		FROM platform_tokens WHERE business_id = ? ORDER BY platform, credential, store_ref_id`, business))
}
