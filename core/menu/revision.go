package menu

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/core"
)

// Revision is a change of a business's menu or stores by one job.
type Revision struct {
	ID           core.ID       `json:"id"`
	At           int64         `json:"at"`        // epoch milliseconds
	Reference    core.ID       `json:"reference"` // of the request
	Kind         string        `json:"kind"`      // stores, menu, timing_groups, rollback or switch
	Location     string        `json:"location_ref_id,omitzero"`
	Actor        string        `json:"actor,omitzero"`   // who requested it, such as key:pos
	RolledBackTo *core.ID      `json:"back_to,omitzero"` // of a rollback: the revision that it restored
	Changes      []ChangeCount `json:"changes"`
}

// ChangeCount counts the rows of one kind that a revision changed, in the master catalogue or at one store.
type ChangeCount struct {
	Entity   string `json:"entity"`                   // one of RevisionEntities; associations count with their owner
	Location string `json:"location_ref_id,omitzero"` // of values of a store
	Rows     int    `json:"rows"`
}

// Difference is the change of a revision to one record, to its values at a store, or to one association.
type Difference struct {
	Entity string `json:"entity"`
	// "" if the record is deleted; for a timing group its title
	RefID    string         `json:"ref_id,omitzero"`
	Location string         `json:"location_ref_id,omitzero"` // of values of a store
	Relation string         `json:"relation,omitzero"`        // of an association: its field in a request
	Before   jsontext.Value `json:"before,omitzero"`          // absent if it did not exist
	After    jsontext.Value `json:"after,omitzero"`           // absent if it no longer exists
}

// RevisionFilter narrows a list of revisions. Zero values match all.
type RevisionFilter struct {
	Entity   string // one of RevisionEntities
	RefID    string // of such an entity; for a timing group its title
	Location string // changes of the store's values, or by a request for the store
	From, To time.Time
	After    core.ID // revisions before this one
	Limit    int
}

// The entities with revisions other than those of menus.
const (
	StoresEntity  = "stores"
	TimingsEntity = "timing_groups"
)

// RevisionEntities returns the names that a filter accepts.
func RevisionEntities() (names []string) {
	for _, kind := range Kinds() {
		names = append(names, kind.String())
	}
	return append(names, StoresEntity, TimingsEntity)
}

// relationFields are the fields of associations in a request.
var relationFields = PerRelation[string]{"category_ref_ids", "item_ref_ids", "opt_grp_ref_ids", "nested_opt_grps",
	"item_ref_ids", "item_ref_ids"}

// Field returns the field of the relation in a request.
func (r Relation) Field() string { return relationFields[r] }

// Owner returns the kind of entity that owns a relation.
func (r Relation) Owner() Kind { return endKinds[r][0] }

// DifferenceQuery names the changes to read: those of revisions, of one object if the filter names one. Offset and
// limit apply to each revision.
type DifferenceQuery struct {
	Revisions     []core.ID
	Filter        RevisionFilter
	Offset, Limit int
}

// PastItem names an item at a store and a platform at a past time.
type PastItem struct {
	Scope           Scope
	Platform, RefID string
	At              time.Time
}

// ItemAsOf is an item at a store at a past time.
type ItemAsOf struct {
	Location string         `json:"location_ref_id"`
	RefID    string         `json:"ref_id"`
	Platform string         `json:"platform"`
	Time     int64          `json:"time"`             // epoch milliseconds
	Shown    bool           `json:"shown"`            // visible to customers of the platform
	Item     *EffectiveItem `json:"item,omitzero"`    // as customers saw it
	OnSale   *bool          `json:"on_sale,omitzero"` // by the timings of its categories; absent if they had none
	Sold     bool           `json:"sold_at_store"`    // the store sold it
	Record   *APIItem       `json:"record,omitzero"`  // in the form of the API; absent if it did not exist
}

// AsOf returns an item by the menu at a past time. The menu need only contain the item, its categories with the timings
// at that time, and the store's values.
func AsOf(scope Scope, menu Menu, platform core.Platform, refID string, at time.Time) ItemAsOf {
	result := ItemAsOf{Location: scope.LocationRefID, RefID: refID, Platform: platform.Name, Time: at.UnixMilli(),
		Sold: len(menu.Store.Items) > 0}
	master := Scope{LocationRefID: MasterLocation}
	if result.Sold {
		master = scope
	}
	if read := ReadBack(master, menu, View{}); len(read.Items) > 0 {
		result.Record = &read.Items[0]
	}
	if shown := Effective(scope.LocationRefID, menu, platform, nil); len(shown.Items) > 0 {
		result.Shown, result.Item = true, &shown.Items[0]
		result.OnSale = onSale(result.Item, shown.Categories)
	}
	return result
}

// onSale reports whether one of an item's categories is available now. It returns nil if none of them has timings.
func onSale(item *EffectiveItem, categories []EffectiveCategory) (now *bool) {
	open, timed := false, false
	for _, c := range categories {
		if slices.Contains(item.CategoryRefIDs, c.RefID) {
			open = open || c.AvailableNow == nil || *c.AvailableNow
			timed = timed || c.AvailableNow != nil
		}
	}
	if timed {
		now = &open
	}
	return now
}

// RollbackStorage restores menus to earlier revisions.
type RollbackStorage interface {
	// RollBack ends the job in one transaction. It restores the business's menu and category timings as of the
	// revision, calls finish for the result, and writes the event and the job's outcome. It returns NotFound if the
	// revision has expired.
	RollBack(ctx context.Context, job core.Job, to core.ID, finish func(RollbackResult) (IngestResult, error)) error
}

// RollbackResult counts the changes of a rollback.
type RollbackResult struct {
	Stats   PerKind[Stats]
	Timings Stats // of timing groups
}

// Count returns the number of objects that the rollback changed.
func (r RollbackResult) Count() int {
	n := r.Timings.Created + r.Timings.Updated + r.Timings.Deleted
	for _, stats := range r.Stats {
		n += stats.Created + stats.Updated + stats.Deleted
	}
	return n
}

// RollbackBody returns the body of a menu job that restores a revision. It is a JSON string, which no submitted request
// can be.
func RollbackBody(to core.ID) []byte { return fmt.Appendf(nil, "%q", to) }

// RollbackJob returns the job that restores a revision. It is an ordinary menu job with the same ordering key.
func RollbackJob(business core.BusinessID, to core.ID, now time.Time) core.Job {
	return core.Job{
		ID: core.NewID(now), Business: business, Kind: core.MenuJob, Subject: MasterLocation, Body: RollbackBody(to),
		CreatedAt: now,
	}
}

// RollbackNames limits the names of each kind in a preview.
const RollbackNames = 20

// RollbackPreview is the effect that a rollback would have now.
type RollbackPreview struct {
	Objects PerKind[int]      // changed since
	Names   PerKind[[]string] // the first RollbackNames of them, by ref_id; of those that still exist
	Timings int               // changed timing groups
	Latest  core.ID           // the latest revision that this includes
}

// Count returns the number of objects of all kinds.
func (u RollbackPreview) Count() (n int) {
	for _, objects := range u.Objects {
		n += objects
	}
	return n + u.Timings
}

// rollbackOf returns the revision that a job restores, if it is a rollback.
func rollbackOf(job core.Job) (to core.ID, ok bool) {
	var text string
	if len(job.Body) == 0 || job.Body[0] != '"' || json.Unmarshal(job.Body, &text) != nil {
		return to, false
	}
	to, err := uuid.Parse(text)
	return to, err == nil
}

// rollBack executes a rollback. It does not restore the platforms' findings, which a recheck computes.
func (i Ingestor) rollBack(ctx context.Context, job core.Job, to core.ID) error {
	return i.RollbackStorage.RollBack(ctx, job, to, func(u RollbackResult) (IngestResult, error) {
		return i.rollbackResult(job, Plan{Stats: u.Stats, TimingStats: u.Timings}, "")
	})
}

// failRollBack ends a rollback that could not be executed.
func (i Ingestor) failRollBack(ctx context.Context, job core.Job, cause error) error {
	return i.Storage.Ingest(ctx, job, IngestNeeds{Scope: MasterScope()},
		func(State, func() int64) (IngestResult, error) {
			return i.rollbackResult(job,
				Plan{Warnings: []Warning{{Path: "rollback",
					Message: "the hub could not roll back to the revision, and changed nothing"}}}, cause.Error())
		})
}

func (i Ingestor) rollbackResult(job core.Job, plan Plan, failure string) (IngestResult, error) {
	plan.Scope = MasterScope()
	ingested, err := i.outcome(job, Request{Scope: MasterScope()}, &plan, Inspection{}, failure)
	ingested.Plan = nil // there is nothing left to write
	return ingested, err
}
