package main

import (
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

// tenant is a business with a key and the authorization that goes with it.
type tenant struct {
	business      core.BusinessID
	authorization string
}

func newTenant(ctx context.Context, db *postgres.DB) (tenant, error) {
	accounts := access.Access{Records: postgres.Access{DB: db}, Clock: db.Clock()}
	business, err := accounts.CreateBusiness(ctx,
		core.Business{Name: "Measured", Country: "US", Timezone: "America/Los_Angeles", Currency: "USD"}, webhook.NewSecret(), nil)
	if err != nil {
		return tenant{}, fmt.Errorf("making a business: %w", err)
	}
	_, secret, err := accounts.CreateKey(ctx, access.Key{Business: business.ID, Username: "pos", Scope: core.ScopePOS})
	if err != nil {
		return tenant{}, fmt.Errorf("making a key: %w", err)
	}
	return tenant{business.ID, "apikey pos:" + secret}, nil
}

// subscribe has an event type posted to the address.
func subscribe(ctx context.Context, db *postgres.DB, business core.BusinessID, event core.EventType, url string, units webhook.Units) (webhook.Subscription, error) {
	now := db.Clock().Now()
	sub, err := postgres.Webhooks{DB: db}.Upsert(ctx, business, "cli", event, url, func(*webhook.Subscription) (webhook.Subscription, error) {
		return webhook.Subscription{
			Business: business, EventType: event, URL: url, Active: true, Units: units, Headers: map[string]string{},
			Secret: webhook.NewSecret(), CreatedAt: now, UpdatedAt: now,
		}, nil
	})
	if err != nil {
		return sub, fmt.Errorf("subscribing: %w", err)
	}
	return sub, nil
}
