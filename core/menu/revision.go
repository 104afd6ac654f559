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

// Revision is one change of a business's menu or stores, by one job.
type Revision struct {
	ID        core.ID     `json:"id"`
	At        int64       `json:"at"`        // epoch milliseconds
	Reference core.ID     `json:"reference"` // of the request
	Kind      string      `json:"kind"`      // stores, menu, timing_groups, rollback or switch
	Location  string      `json:"location_ref_id,omitzero"`
	Actor     string      `json:"actor,omitzero"`   // who asked for it, such as key:pos
	Undoes    *core.ID    `json:"back_to,omitzero"` // of a rollback: the revision that it went back to
	Touched   []Touchings `json:"changes"`
}

// Touchings is how many rows of one kind a revision changed, in the master
// catalogue or at one store.
type Touchings struct {
	Entity   string `json:"entity"`                   // of RevisionEntities; associations count with their owner
	Location string `json:"location_ref_id,omitzero"` // of values of a store
	Rows     int    `json:"rows"`
}

// Difference is what a revision did to one record, to one's values at a store, or
// to one association.
type Difference struct {
	Entity   string         `json:"entity"`
	RefID    string         `json:"ref_id,omitzero"`          // "" where the record is gone; of a timing group its title
	Location string         `json:"location_ref_id,omitzero"` // of values of a store
	Relation string         `json:"relation,omitzero"`        // of an association: what it is called in a request
	Before   jsontext.Value `json:"before,omitzero"`          // absent where there was nothing
	After    jsontext.Value `json:"after,omitzero"`           // absent where there is nothing
}

// RevisionFilter narrows a list of revisions; zero values narrow nothing.
type RevisionFilter struct {
	Entity   string // of RevisionEntities
	RefID    string // of such an entity; of a timing group its title
	Location string // those of the store's values, or by a request that named it
	From, To time.Time
	After    core.ID // revisions before this one
	Limit    int
}

// The entities of which revisions are kept beside those of menus.
const (
	StoresEntity  = "stores"
	TimingsEntity = "timing_groups"
)

// RevisionEntities are the names that a filter takes.
func RevisionEntities() (names []string) {
	for _, kind := range Kinds() {
		names = append(names, kind.String())
	}
	return append(names, StoresEntity, TimingsEntity)
}

// relationFields are what associations are called in a request.
var relationFields = PerRelation[string]{"category_ref_ids", "item_ref_ids", "opt_grp_ref_ids", "nested_opt_grps", "item_ref_ids", "item_ref_ids"}

// Field is what the relation is called in a request.
func (r Relation) Field() string { return relationFields[r] }

// Owner is the kind of entity that a relation belongs to.
func (r Relation) Owner() Kind { return endKinds[r][0] }

// ItemThen is an item at a store as it was at a moment.
type ItemThen struct {
	Location string         `json:"location_ref_id"`
	RefID    string         `json:"ref_id"`
	Platform string         `json:"platform"`
	Time     int64          `json:"time"`             // epoch milliseconds
	Shown    bool           `json:"shown"`            // customers of the platform could see it
	Item     *EffectiveItem `json:"item,omitzero"`    // as they saw it
	OnSale   *bool          `json:"on_sale,omitzero"` // by the timings of its categories; absent where they had none
	Sold     bool           `json:"sold_at_store"`    // the store had it
	Record   *ItemReading   `json:"record,omitzero"`  // as it was read back; absent where there was none
}

// Then tells what an item was like by the menu of the moment, which need hold no
// more than the item, its categories with their timings, noted for the moment, and
// the store's values of it.
func Then(scope Scope, menu Menu, platform core.Platform, refID string, at time.Time) ItemThen {
	then := ItemThen{Location: scope.LocationRefID, RefID: refID, Platform: platform.Name, Time: at.UnixMilli(), Sold: len(menu.Store.Items) > 0}
	master := Scope{LocationRefID: MasterLocation}
	if then.Sold {
		master = scope
	}
	if read := ReadBack(master, menu, View{}); len(read.Items) > 0 {
		then.Record = &read.Items[0]
	}
	if seen := Effective(scope.LocationRefID, menu, platform, nil); len(seen.Items) > 0 {
		then.Shown, then.Item = true, &seen.Items[0]
		then.OnSale = onSale(then.Item, seen.Categories)
	}
	return then
}

// onSale tells whether one of the categories of an item is on sale now; nil where
// none of them has timings.
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

// Rollbacks takes menus back to earlier revisions.
type Rollbacks interface {
	// RollBack ends the job in one transaction: it makes the menu of the business,
	// and its category timings, what they were right after the revision, lets finish
	// say what is told of it, and writes the event and the job's outcome. NotFound
	// where the revision is no longer kept.
	RollBack(ctx context.Context, job core.Job, to core.ID, finish func(Undone) (Ingested, error)) error
}

// Undone counts what a rollback did.
type Undone struct {
	Stats   PerKind[Stats]
	Timings Stats // of timing groups
}

// RollbackBody is the body of a menu job that goes back to a revision: a text, as
// no request is that was sent.
func RollbackBody(to core.ID) []byte { return fmt.Appendf(nil, "%q", to) }

// RollbackJob is the job that goes back to a revision: an ordinary menu job, in its
// turn among the others.
func RollbackJob(business core.BusinessID, to core.ID, actor string, now time.Time) core.Job {
	return core.Job{
		ID: core.NewID(now), Business: business, Kind: core.MenuJob, Subject: MasterLocation, Body: RollbackBody(to), CreatedAt: now, Actor: actor,
	}
}

// Undoing is what a rollback would change if it ran now.
type Undoing struct {
	Objects PerKind[int] // how many were changed since
	Timings int          // how many timing groups
	Latest  core.ID      // the revision after which that is so
}

// Count is how many objects of all kinds there are.
func (u Undoing) Count() (n int) {
	for _, objects := range u.Objects {
		n += objects
	}
	return n + u.Timings
}

// rollbackOf tells which revision a job goes back to, if it is one that does.
func rollbackOf(job core.Job) (to core.ID, is bool) {
	var text string
	if len(job.Body) == 0 || job.Body[0] != '"' || json.Unmarshal(job.Body, &text) != nil {
		return to, false
	}
	to, err := uuid.Parse(text)
	return to, err == nil
}

// rollBack carries a rollback out. What the platforms have against items is not
// undone with them: it is found anew.
func (i Ingestor) rollBack(ctx context.Context, job core.Job, to core.ID) error {
	return i.Rollbacks.RollBack(ctx, job, to, func(u Undone) (Ingested, error) {
		return i.rolledBack(job, Plan{Stats: u.Stats, TimingStats: u.Timings}, "")
	})
}

// failRollBack ends a rollback that could not be carried out.
func (i Ingestor) failRollBack(ctx context.Context, job core.Job, cause error) error {
	return i.Records.Ingest(ctx, job, MasterScope(), Needs{}, 0, func(State, func() int64) (Ingested, error) {
		return i.rolledBack(job, Plan{Warnings: []Warning{{Path: "rollback", Message: "the hub could not go back to the revision: nothing was changed"}}}, cause.Error())
	})
}

func (i Ingestor) rolledBack(job core.Job, plan Plan, failure string) (Ingested, error) {
	plan.Scope = MasterScope()
	ingested, err := i.outcome(job, Request{Scope: MasterScope()}, &plan, Inspection{}, failure)
	ingested.Plan = nil // there is nothing left to write
	return ingested, err
}
