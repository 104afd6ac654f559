package store

import (
	"context"
	"time"

	"github.com/servery-hub/servery/core"
)

// Reader reads what a ChannelStoreView shows.
type Reader interface {
	// Get returns a store, or NotFound.
	Get(ctx context.Context, business core.BusinessID, refID string) (Stored, error)
	// Page returns the stores whose ref_id sorts after the given one, in order.
	Page(ctx context.Context, business core.BusinessID, after string, limit int) ([]Stored, error)
	// StoreContext returns the other state that effective stores depend on.
	StoreContext(ctx context.Context, business core.BusinessID) (StoreContext, error)
}

// ChannelStoreView shows stores to channels.
type ChannelStoreView struct {
	Reader Reader
	Clock  core.Clock
}

// Query narrows a list of effective stores. Empty fields match all.
type Query struct {
	Platform string // stores that are listed on it
	ZipCode  string // stores that deliver there
	After    string // stores whose ref_id sorts after it
	Limit    int
}

// pageSize bounds the stores that are read at a time.
const pageSize = 500

// List returns the effective stores in the order of ref_id, and whether zip codes decided. It returns NotFound if the
// business has no such platform.
func (w ChannelStoreView) List(ctx context.Context, business core.BusinessID,
	q Query) (list []Effective, byZipCodes bool, err error) {
	state, local, platform, err := w.load(ctx, business, q.Platform)
	if err != nil {
		return nil, false, err
	}
	byZipCodes = state.UsesZipCodes(platform)
	list = []Effective{}
	for after := q.After; ; {
		page, err := w.Reader.Page(ctx, business, after, pageSize)
		if err != nil {
			return nil, false, err
		}
		for _, stored := range page {
			if q.Platform != "" && !(Listing{stored.ExcludedPlatforms,
				stored.IncludedPlatforms}).ListedOn(platform.Name) ||
				q.ZipCode != "" && byZipCodes && !DeliversTo(stored.ZipCodes, q.ZipCode) {
				continue
			}
			shown := effective(stored, state, local)
			if q.Platform != "" {
				shown.OrderingEnabled = stored.TakesOrdersOn(platform.Name)
			}
			if list = append(list, shown); len(list) == q.Limit {
				return list, byZipCodes, nil
			}
		}
		if len(page) < pageSize {
			return list, byZipCodes, nil
		}
		after = *page[len(page)-1].RefID
	}
}

// Deliverable reports whether a store delivers to a zip code, and whether zip codes decided. It returns NotFound if the
// business has no such store or platform.
func (w ChannelStoreView) Deliverable(ctx context.Context, business core.BusinessID, refID, zip,
	platformName string) (deliverable, byZipCodes bool, err error) {
	state, _, platform, err := w.load(ctx, business, platformName)
	if err != nil {
		return false, false, err
	}
	stored, err := w.Reader.Get(ctx, business, refID)
	if err != nil {
		return false, false, err
	}
	byZipCodes = state.UsesZipCodes(platform)
	return !byZipCodes || DeliversTo(stored.ZipCodes, zip), byZipCodes, nil
}

// load reads the state and the local time of a business, and finds a platform. An empty name stands for a platform of
// the merchant.
func (w ChannelStoreView) load(ctx context.Context, business core.BusinessID,
	name string) (p StoreContext, local time.Time, platform core.Platform, err error) {
	if p, err = w.Reader.StoreContext(ctx, business); err != nil {
		return p, local, platform, err
	}
	zone, err := time.LoadLocation(p.Timezone)
	if err != nil {
		return p, local, platform, err
	}
	platform.ServedBy = core.ServedByMerchant
	if name != "" {
		platform, err = p.platform(name)
	}
	return p, w.Clock.Now().In(zone), platform, err
}
