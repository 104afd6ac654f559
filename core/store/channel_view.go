package store

import (
	"context"
	"time"

	"github.com/servery-hub/servery/core"
)

// Reader reads what a Window shows.
type Reader interface {
	Get(ctx context.Context, business core.BusinessID, refID string) (Stored, error)
	Page(ctx context.Context, business core.BusinessID, after string, limit int) ([]Stored, error)
	StoreContext(ctx context.Context, business core.BusinessID) (StoreContext, error)
}

// ChannelStoreView shows stores to channels.
type ChannelStoreView struct {
	Reader Reader
	Clock  core.Clock
}

// Query narrows a list of effective stores; empty fields narrow nothing.
type Query struct {
	Platform string // stores that are listed on it
	ZipCode  string // stores that deliver there
	After    string // stores whose ref_id sorts after it
	Limit    int
}

// pageSize is how many stores are read at a time.
const pageSize = 500

// List is the effective stores in the order of ref_id, at most as many as asked
// for, and whether zip codes decided. NotFound where the business has no such platform.
func (w ChannelStoreView) List(ctx context.Context, business core.BusinessID,
	q Query) (list []Effective, byZipCodes bool, err error) {
	premises, local, platform, err := w.load(ctx, business, q.Platform)
	if err != nil {
		return nil, false, err
	}
	byZipCodes = premises.UsesZipCodes(platform)
	list = []Effective{}
	for after := q.After; ; {
		page, err := w.Reader.Page(ctx, business, after, pageSize)
		if err != nil {
			return nil, false, err
		}
		for _, stored := range page {
			if q.Platform != "" && !(Listing{stored.ExcludedPlatforms, stored.IncludedPlatforms}).ListedOn(platform.Name) ||
				q.ZipCode != "" && byZipCodes && !DeliversTo(stored.ZipCodes, q.ZipCode) {
				continue
			}
			seen := effective(stored, premises, local)
			if q.Platform != "" {
				seen.OrderingEnabled = stored.TakesOrdersOn(platform.Name)
			}
			if list = append(list, seen); len(list) == q.Limit {
				return list, byZipCodes, nil
			}
		}
		if len(page) < pageSize {
			return list, byZipCodes, nil
		}
		after = *page[len(page)-1].RefID
	}
}

// Deliverable tells whether a store delivers to a zip code, and whether zip
// codes decided. NotFound where the business has no such store or platform.
func (w ChannelStoreView) Deliverable(ctx context.Context, business core.BusinessID, refID, zip,
	platformName string) (deliverable, byZipCodes bool, err error) {
	premises, _, platform, err := w.load(ctx, business, platformName)
	if err != nil {
		return false, false, err
	}
	stored, err := w.Reader.Get(ctx, business, refID)
	if err != nil {
		return false, false, err
	}
	byZipCodes = premises.UsesZipCodes(platform)
	return !byZipCodes || DeliversTo(stored.ZipCodes, zip), byZipCodes, nil
}

// load reads the premises and the local time. No platform named is one of the
// merchant's own.
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
