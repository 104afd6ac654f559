package consoleview

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/internal/postgres/polls"
)

// ListPlatforms returns the settings of a business's platforms, sorted by name.
func (c Store) ListPlatforms(ctx context.Context, business core.BusinessID) ([]console.PlatformSettings, error) {
	stored, err := platforms.New(c.db).List(ctx, business)
	if err != nil {
		return nil, err
	}
	list, indexes := make([]console.PlatformSettings, len(stored)), map[string]int{}
	for i, p := range stored {
		list[i], indexes[p.Name] = console.PlatformSettings{Platform: p.Platform, Settings: p.Settings,
			Addresses: p.Addresses, Accept: string(p.Accept), Secrets: map[string]time.Time{}}, i
		for _, name := range p.Secrets {
			list[i].Secrets[name] = time.Time{}
		}
	}
	aliases, err := platforms.AliasesOf(ctx, c.db.Tenant(business), business)
	if err != nil {
		return nil, err
	}
	for _, a := range aliases {
		if i, known := indexes[a.Platform]; known {
			list[i].Aliases = append(list[i].Aliases, a)
		}
	}
	if err := c.addTokens(ctx, business, list, indexes); err != nil {
		return nil, err
	}
	if err := c.addPolls(ctx, business, list, indexes); err != nil {
		return nil, err
	}
	values, err := platforms.New(c.db).ListValues(ctx, business)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Values = values[list[i].Name]
	}
	return list, c.addVersions(ctx, business, list, indexes)
}

// addVersions adds the versions, callback keys and last rejections of a list, and when its secrets were set.
func (c Store) addVersions(ctx context.Context, business core.BusinessID, list []console.PlatformSettings,
	indexes map[string]int) error {
	rows, err := c.db.Tenant(business).QueryContext(ctx,
		`SELECT p.name, `+platforms.PlatformVersion+
			`, p.secrets_set_at, p.callback_rejected_at, p.callback_rejection, k.created_at FROM platforms p
		LEFT JOIN callback_keys k ON k.business_id = p.business_id AND k.platform = p.name WHERE p.business_id = ?
			ORDER BY p.name, k.created_at DESC`, business)
	if err != nil {
		return fmt.Errorf("reading platforms: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, version string
		var secretTimes []byte
		var rejectedAt, keyCreatedAt time.Time
		var rejection string
		if err := rows.Scan(&name, &version, &secretTimes, postgres.OrZero(&rejectedAt), &rejection,
			postgres.OrZero(&keyCreatedAt)); err != nil {
			return fmt.Errorf("reading platforms: %w", err)
		}
		i, known := indexes[name]
		if !known { // created since
			continue
		}
		p := &list[i]
		p.Version, p.RejectedAt, p.Rejection = version, rejectedAt, rejection
		if err := json.Unmarshal(secretTimes, &p.Secrets); err != nil {
			return fmt.Errorf("reading platform %s: %w", name, err)
		}
		if !keyCreatedAt.IsZero() {
			p.Keys = append(p.Keys, keyCreatedAt)
		}
	}
	return rows.Err()
}

// addPolls adds the state of polls to the platforms of a list.
func (c Store) addPolls(ctx context.Context, business core.BusinessID, list []console.PlatformSettings,
	indexes map[string]int) error {
	found, err := polls.New(c.db).List(ctx, business)
	for _, p := range found {
		if i, known := indexes[p.Platform]; known {
			list[i].Polls = append(list[i].Polls, p.PlatformPoll)
		}
	}
	return err
}

// addTokens adds the state of access tokens to the platforms of a list.
func (c Store) addTokens(ctx context.Context, business core.BusinessID, list []console.PlatformSettings,
	indexes map[string]int) error {
	tokens, err := platforms.NewTokens(c.db).TokenStates(ctx, business)
	for _, s := range tokens {
		if i, known := indexes[s.Platform]; known {
			list[i].Tokens = append(list[i].Tokens, console.PlatformToken{Credential: s.Credential, Store: s.Store,
				RenewedAt: s.RenewedAt, ExpiresAt: s.ExpiresAt, FailedAt: s.FailedAt, Failure: s.Failure})
		}
	}
	return err
}
