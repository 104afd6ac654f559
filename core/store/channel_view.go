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
	// Page returns at most limit stores whose ref_id sorts after the given one, in order. A page ends early when its
	// stores have MaxPageBytes.
	Page(ctx context.Context, business core.BusinessID, after string, limit int) (Page, error)
	// StoreContext returns the other state that effective stores depend on.
	StoreContext(ctx context.Context, business core.BusinessID) (StoreContext, error)
}

// Page is a page of stores.
type Page struct {
	Stores []Stored
	Bytes  int64 // of their texts, approximately
	More   bool  // further stores follow
}

// Next returns the ref_id after which the next page begins, or "" if this is the last one.
func (p Page) Next() string {
	if !p.More {
		return ""
	}
	return *p.Stores[len(p.Stores)-1].RefID
}

// MaxPageBytes is how many bytes of stores end a page.
const MaxPageBytes = 4 << 20

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

// EffectivePage is a page of effective stores.
type EffectivePage struct {
	Stores     []Effective
	Next       string // ref_id after which the next page begins; "": this is the last one
	ByZipCodes bool   // zip codes decided
}

// List returns the effective stores in the order of ref_id. A page of large stores has fewer than the limit. List
// returns NotFound if the business has no such platform.
func (w ChannelStoreView) List(ctx context.Context, business core.BusinessID, q Query) (list EffectivePage, err error) {
	state, local, platform, err := w.load(ctx, business, q.Platform)
	if err != nil {
		return EffectivePage{}, err
	}
	list = EffectivePage{Stores: []Effective{}, ByZipCodes: state.UsesZipCodes(platform)}
	bytes := int64(0)
	for after := q.After; ; {
		page, err := w.Reader.Page(ctx, business, after, pageSize)
		if err != nil {
			return EffectivePage{}, err
		}
		before := len(list.Stores)
		for _, stored := range page.Stores {
			if q.Platform != "" && !(Listing{stored.ExcludedPlatforms,
				stored.IncludedPlatforms}).ListedOn(platform.Name) ||
				q.ZipCode != "" && list.ByZipCodes && !DeliversTo(stored.ZipCodes, q.ZipCode) {
				continue
			}
			if len(list.Stores) == q.Limit {
				list.Next = list.Stores[q.Limit-1].RefID
				return list, nil
			}
			shown := effective(stored, state, local)
			if q.Platform != "" {
				shown.OrderingEnabled = stored.TakesOrdersOn(platform.Name)
			}
			list.Stores = append(list.Stores, shown)
		}
		if len(list.Stores) > before {
			bytes += page.Bytes
		}
		if after = page.Next(); after == "" || bytes >= MaxPageBytes {
			list.Next = after
			return list, nil
		}
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
