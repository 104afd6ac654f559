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
	// ReplaceFindings replaces the findings of the job's platform for items. It skips items that have changed since
	// they
	// were read, and returns their number. If there are none, it stores body as the body of the job, for the next
	// attempt. It returns Conflict if the job's lease is lost.
	ReplaceFindings(ctx context.Context, job core.Job, items []StoredItem, findings map[string][]Finding,
		body []byte) (stale int, err error)
	// EndRecheck ends the job.
	EndRecheck(ctx context.Context, job core.Job, failure string, result []byte, items int) error
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
	maxPageAttempts = 5               // of a page whose items change
	recheckPause    = 5 * time.Second // while a plugin is unavailable
)

// progress is the progress of a recheck. It is stored as the body of the job.
type progress struct {
	After   int64 `json:"after,omitzero"` // the id of the last checked item
	Checked int   `json:"items"`
	Found   int   `json:"items_with_findings"`
}

// Run checks page after page. Another attempt continues from the last page.
func (r Rechecker) Run(ctx context.Context, job core.Job, report func(done, total int)) error {
	var at progress
	if err := json.Unmarshal(job.Body, &at); err != nil {
		return fmt.Errorf("reading a stored recheck: %w", err)
	}
	for attempts := 0; ; {
		items, err := r.Storage.ItemsAfter(ctx, job.Business, at.After, recheckPage)
		if err != nil {
			return err
		}
		if len(items) == 0 {
			break
		}
		findings, err := r.inspect(ctx, job, items)
		if err != nil {
			return err
		}
		next := progress{items[len(items)-1].Item.ID, at.Checked + len(items), at.Found + len(findings)}
		body, err := json.Marshal(next)
		if err != nil {
			return err
		}
		stale, err := r.Storage.ReplaceFindings(ctx, job, items, findings, body)
		if err != nil {
			return err
		}
		if attempts++; stale > 0 && attempts < maxPageAttempts {
			continue
		}
		attempts, at = 0, next
		report(at.Checked, at.Checked)
	}
	result, err := json.Marshal(progress{Checked: at.Checked, Found: at.Found})
	if err != nil {
		return err
	}
	return r.Storage.EndRecheck(ctx, job, "", result, at.Checked)
}

// inspect returns the platform's findings for the items that are listed there. It returns nothing if no plugin has
// rules for it, and waits for an unavailable plugin.
func (r Rechecker) inspect(ctx context.Context, job core.Job, items []StoredItem) (map[string][]Finding, error) {
	var listed []*Item
	for i := range items {
		if items[i].Item.ListedOn(job.Subject) {
			listed = append(listed, &items[i].Item)
		}
	}
	if r.Inspector == nil || len(listed) == 0 {
		return nil, nil
	}
	findings, err := r.Inspector.Inspect(ctx, job.Business, job.Subject, listed)
	var snooze core.Snooze
	switch {
	case core.CodeOf(err) == core.NotFound:
		return nil, nil
	case core.CodeOf(err) == core.Unavailable || errors.As(err, &snooze):
		return nil, core.Snooze{Until: r.Clock.Now().Add(recheckPause)}
	case err != nil:
		return nil, fmt.Errorf("the rules of platform %s: %w", job.Subject, err)
	}
	return findings, nil
}

// Fail ends a recheck that failed too often. Its findings so far remain.
func (r Rechecker) Fail(ctx context.Context, job core.Job, cause error) error {
	return r.Storage.EndRecheck(ctx, job, cause.Error(), []byte("{}"), 0)
}
