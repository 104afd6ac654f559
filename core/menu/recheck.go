package menu

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

// StoredItem is a master item as of its last update.
type StoredItem struct {
	Item      Item
	UpdatedAt time.Time // shows whether it has changed since
}

// RecheckStorage stores the findings about stored menus.
type RecheckStorage interface {
	// ItemsAfter reads master items with ids above the given one, in ascending order.
	ItemsAfter(ctx context.Context, business core.BusinessID, after int64, limit int) ([]StoredItem, error)
	// CatalogueVersion returns a number that each change of the catalogue raises.
	CatalogueVersion(ctx context.Context, business core.BusinessID) (int64, error)
	// ReplaceFindings replaces the findings of the job's platform for items. It skips items that have changed since
	// they were read, and returns their number. If there are none, it stores body as the body of the job, for the next
	// attempt. It returns Conflict if the job's lease is lost.
	ReplaceFindings(ctx context.Context, job core.Job, page CheckedItems, body []byte) (stale int, err error)
	// StoresAfter reads stores with ids above the given one, in ascending order: those that the platform lists, or only
	// those with findings.
	StoresAfter(ctx context.Context, business core.BusinessID, page StorePage) ([]StoredStore, error)
	// ReplaceStoreFindings replaces the findings of the job's platform for stores, and stores body as above.
	ReplaceStoreFindings(ctx context.Context, job core.Job, stores []StoredStore, found Found, body []byte) error
	// Menu returns the whole menu of a business: the catalogue, and for a store its values.
	Menu(ctx context.Context, business core.BusinessID, store int64) (Menu, error)
	// EndRecheck ends the job.
	EndRecheck(ctx context.Context, job core.Job, failure string, result []byte, items int) error
}

// CheckedItems are items with their findings, by ref_id.
type CheckedItems struct {
	Items    []StoredItem
	Findings map[string][]Finding
	Version  int64 // of the catalogue before it was read; 0: the findings do not depend on other objects
}

// StoredStore is a store to check.
type StoredStore struct {
	ID    int64
	RefID string
}

// StorePage selects stores of a platform.
type StorePage struct {
	Platform string
	Listed   bool // also those without findings
	After    int64
	Limit    int
}

// Rechecker checks the items of a business against the rules of a platform, the job's subject, after these have changed
// (job.Handler).
type Rechecker struct {
	Storage   RecheckStorage
	Inspector Inspector // nil: no platform has rules
	Clock     core.Clock
}

// The bounds of a recheck.
const (
	recheckPage     = 200             // items; few enough for a slow plugin
	contextPage     = 1000            // items with their context, which is read for each page
	recheckStores   = 100             // stores of a page
	maxPageAttempts = 5               // of a page whose items change
	recheckPause    = 5 * time.Second // while a plugin is unavailable
)

// progress is the progress of a recheck. It is stored as the body of the job.
type progress struct {
	After   int64 `json:"after,omitzero"` // the id of the last checked item
	Checked int   `json:"items"`
	Found   int   `json:"items_with_findings"`
	Store   int64 `json:"after_store,omitzero"` // the id of the last checked store
}

// Run checks page after page. Another attempt continues from the last page.
func (r Rechecker) Run(ctx context.Context, job core.Job, report func(done, total int)) error {
	var at progress
	if err := json.Unmarshal(job.Body, &at); err != nil {
		return fmt.Errorf("reading a stored recheck: %w", err)
	}
	platform, err := r.platform(ctx, job)
	if err != nil {
		return err
	}
	size := recheckPage
	if platform.Context {
		size = contextPage
	}
	for attempts := 0; ; {
		var page CheckedItems
		if platform.Context {
			if page.Version, err = r.Storage.CatalogueVersion(ctx, job.Business); err != nil {
				return err
			}
		}
		items, err := r.Storage.ItemsAfter(ctx, job.Business, at.After, size)
		if err != nil {
			return err
		}
		if len(items) == 0 {
			break
		}
		page.Items = items
		if attempts == maxPageAttempts-1 { // the catalogue changes all the time
			page.Version = 0
		}
		if page.Findings, err = r.inspect(ctx, job, platform, items); err != nil {
			return err
		}
		next := progress{After: items[len(items)-1].Item.ID, Checked: at.Checked + len(items),
			Found: at.Found + len(page.Findings)}
		body, err := json.Marshal(next)
		if err != nil {
			return err
		}
		stale, err := r.Storage.ReplaceFindings(ctx, job, page, body)
		if err != nil {
			return err
		}
		if attempts++; stale > 0 && attempts < maxPageAttempts {
			continue
		}
		attempts, at = 0, next
		report(at.Checked, at.Checked)
	}
	if err := r.recheckStores(ctx, job, platform, at); err != nil {
		return err
	}
	result, err := json.Marshal(progress{Checked: at.Checked, Found: at.Found})
	if err != nil {
		return err
	}
	return r.Storage.EndRecheck(ctx, job, "", result, at.Checked)
}

// platform returns the platform of a recheck.
func (r Rechecker) platform(ctx context.Context, job core.Job) (RulePlatform, error) {
	platform := RulePlatform{Name: job.Subject}
	if r.Inspector == nil {
		return platform, nil
	}
	list, err := r.Inspector.Platforms(ctx, job.Business)
	for _, p := range list {
		platform.Context = platform.Context || p.Name == job.Subject && p.Context
	}
	return platform, err
}

// inspect returns the platform's findings for the items that are listed there, by ref_id.
func (r Rechecker) inspect(ctx context.Context, job core.Job, platform RulePlatform,
	items []StoredItem) (map[string][]Finding, error) {
	var check Check
	for i := range items {
		if items[i].Item.ListedOn(platform.Name) {
			check.Items = append(check.Items, &items[i].Item)
		}
	}
	if len(check.Items) == 0 {
		return nil, nil
	}
	if platform.Context {
		catalogue, err := r.Storage.Menu(ctx, job.Business, 0)
		if err != nil {
			return nil, err
		}
		check.addContext(newCatalogueView(&catalogue), &Request{}, platform.Name)
	}
	found, err := r.find(ctx, job, check)
	return check.byItem(found), err
}

// find returns the platform's findings. It returns nothing if no plugin has rules for it, and waits for an unavailable
// plugin.
func (r Rechecker) find(ctx context.Context, job core.Job, check Check) (Found, error) {
	if r.Inspector == nil {
		return nil, nil
	}
	found, err := r.Inspector.Inspect(ctx, job.Business, job.Subject, check)
	var snooze core.Snooze
	switch {
	case core.CodeOf(err) == core.NotFound:
		return nil, nil
	case core.CodeOf(err) == core.Unavailable || errors.As(err, &snooze):
		return nil, core.Snooze{Until: r.Clock.Now().Add(recheckPause)}
	case err != nil:
		return nil, fmt.Errorf("the rules of platform %s: %w", job.Subject, err)
	}
	return found, nil
}

// recheckStores checks the stores that the platform lists, page after page. Without rules for stores it removes their
// findings.
func (r Rechecker) recheckStores(ctx context.Context, job core.Job, platform RulePlatform, at progress) error {
	for {
		stores, err := r.Storage.StoresAfter(ctx, job.Business, StorePage{Platform: platform.Name,
			Listed: platform.Context, After: at.Store, Limit: recheckStores})
		if err != nil || len(stores) == 0 {
			return err
		}
		var found Found
		if platform.Context {
			check := Check{}
			for _, s := range stores {
				check.Stores = append(check.Stores, s.ID)
			}
			if found, err = r.find(ctx, job, check); err != nil {
				return err
			}
		}
		at.Store = stores[len(stores)-1].ID
		body, err := json.Marshal(at)
		if err != nil {
			return err
		}
		if err := r.Storage.ReplaceStoreFindings(ctx, job, stores, found, body); err != nil {
			return err
		}
	}
}

// Fail ends a recheck that failed too often. Its findings so far remain.
func (r Rechecker) Fail(ctx context.Context, job core.Job, cause error) error {
	return r.Storage.EndRecheck(ctx, job, cause.Error(), []byte("{}"), 0)
}
