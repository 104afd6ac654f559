package consoleview

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/checklist"
	"github.com/servery-hub/servery/core/internal/postgres"
	platformsdb "github.com/servery-hub/servery/core/internal/postgres/platforms"
)

// Checklist determines the progress of a first integration.
type Checklist struct {
	db     *postgres.DB
	Offers action.ActionLister
}

// NewChecklist returns a Checklist that uses db; offers returns the actions of plugins.
func NewChecklist(db *postgres.DB, offers action.ActionLister) Checklist {
	return Checklist{db, offers}
}

// latestRead bounds the deliveries of a webhook and the orders that are read.
const latestRead = 100

// Facts returns the progress of a business. Each fact uses an index and stops at the first match.
func (c Checklist) Facts(ctx context.Context, business core.BusinessID) (f checklist.Facts, err error) {
	offering, err := c.contactPlugins(ctx, business)
	if err != nil {
		return f, err
	}
	var menuErrors uuid.NullUUID
	err = c.db.Tenant(business).QueryRowContext(ctx, queries.With("facts", postgres.Args{
		"business": business, "menu_job": core.MenuJob, "store_job": core.StoreJob,
		"latest": latestRead, "offering": pgdialect.Array(offering),
		"order_placed": core.OrderPlaced, "order_retry_job": core.OrderRetryJob,
	})).Scan(
		&f.Called, &f.Stores, &f.Menu, &f.Subscribed, &f.Verified, &f.OrderAccepted, &f.OrdersRetried, &f.Rider,
		&f.Action, &f.Requests,
		&menuErrors, &f.Store, &f.Item, &f.SelfOrder, &f.Order, &f.Platform)
	if err != nil {
		return f, fmt.Errorf("reading the progress of an integration: %w", err)
	}
	week, err := failureWeek(ctx, c.db, business)
	if err != nil {
		return f, err
	}
	f.FailingDays, f.FailingJob = week.Days, week.Latest
	f.MenuErrors = menuErrors.UUID
	f.Called = f.Called || f.Stores // the use of a key is stored only once a minute
	return f, nil
}

// contactPlugins returns the plugins of a business that offer the customer's contact.
func (c Checklist) contactPlugins(ctx context.Context, business core.BusinessID) ([]string, error) {
	platforms, err := platformsdb.New(c.db).List(ctx, business)
	if err != nil {
		return nil, err
	}
	offering := []string{}
	for _, p := range platforms {
		if p.ServedBy == core.ServedByMerchant {
			continue
		}
		// The actions of a starting plugin are unknown, so it is omitted.
		if actions, err := c.Offers.Actions(ctx, p.ServedBy); err == nil &&
			slices.Contains(action.Names(actions), action.CustomerData) {
			offering = append(offering, p.ServedBy)
		}
	}
	return offering, nil
}
