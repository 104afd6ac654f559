package menu

import (
	"fmt"
	"slices"

	"github.com/servery-hub/servery/core"
)

// Change is a record to write, with all of its new fields.
type Change[R any] struct {
	New    bool
	Record R
}

// LinkChange is the change of the links of one relation. A link in Put is new or has a new position.
type LinkChange struct {
	Put    []Link
	Remove []Link
}

// StoreChange is the change of the addressed store's references.
type StoreChange struct {
	Categories []int64 // to add
	Items      []Change[AtStore[ItemValues]]
	Options    []Change[AtStore[OptionValues]]
	Removed    PerKind[[]Ref] // masters whose reference is removed, of Items and Options
}

// Outcome is the result of one submitted object.
type Outcome struct {
	Action  string // A added, U updated, D removed from the store; for a failed object the attempted action
	ID      int64  // 0 on error
	Message string // the error; "" if there is none
	Changed bool   // whether any stored data changes
	// Warnings name the parts of the object that have no effect. Their paths are those within the object.
	Warnings []Warning
}

// Stats counts the outcomes of one kind. Deleted includes what a flush removed.
type Stats struct {
	Created int `json:"created"`
	Updated int `json:"updated"`
	Deleted int `json:"deleted"`
	Errors  int `json:"errors"`
}

// Warning reports a part of the request that had no effect.
type Warning struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Plan is the result of planning a request. Nothing that it does not contain changes. Write it in this order:
//
//  1. Remove the store references of the kinds in ClearedAtStores at every store of the business.
//  2. Deactivate masters.
//  3. Write the changed masters.
//  4. Remove and put links.
//  5. Change the addressed store's references.
type Plan struct {
	Scope           Scope
	Categories      []Change[Category]
	Items           []Change[Item]
	OptionGroups    []Change[OptionGroup]
	Options         []Change[Option]
	Taxes           []Change[Tax]
	Charges         []Change[Charge]
	Links           PerRelation[LinkChange]
	ClearedAtStores PerKind[bool]  // of Categories, Items and Options: a master flush
	Deactivated     PerKind[[]Ref] // masters that a flush did not list
	Store           StoreChange
	Outcomes        PerKind[[]Outcome] // in the order of the request
	Stats           PerKind[Stats]
	TimingStats     Stats // of timing groups: a rollback
	Warnings        []Warning
	Held            PerKind[bool] // flushes that wait for confirm_flush
	StoreFindings   []Finding     // of platforms against the addressed store
}

// allWarnings returns the warnings about the request, and the first ones about its objects.
func (p *Plan) allWarnings() []Warning {
	list := slices.Clone(p.Warnings)
	for _, kind := range Kinds() {
		for i, outcome := range p.Outcomes[kind] {
			for _, w := range outcome.Warnings {
				if len(list)-len(p.Warnings) == core.MaxFailedObjects {
					return list
				}
				list = append(list, Warning{fmt.Sprintf("%s[%d].%s", kind, i, w.Path), w.Message})
			}
		}
	}
	return list
}

// HasChanges reports whether the plan writes anything.
func (p *Plan) HasChanges() bool {
	written := len(p.Categories) + len(p.Items) + len(p.OptionGroups) + len(p.Options) + len(p.Taxes) + len(p.Charges) +
		len(p.Store.Categories) + len(p.Store.Items) + len(p.Store.Options)
	for _, links := range p.Links {
		written += len(links.Put) + len(links.Remove)
	}
	for kind := range p.ClearedAtStores {
		written += len(p.Deactivated[kind]) + len(p.Store.Removed[kind])
		if p.ClearedAtStores[kind] {
			written++
		}
	}
	return written > 0
}

// Failed returns the plan of a request that the hub could not execute: every object fails with the message, and nothing
// is written. The state, if it was loaded, distinguishes creations from updates.
func Failed(request Request, state State, message string) Plan {
	d := newDecider(&request, &state, func() int64 { return 0 })
	plan := Plan{Scope: request.Scope}
	fail := func(kind Kind, known bool) {
		outcome := Outcome{Action: "A", Message: message}
		if known {
			outcome.Action = "U"
		}
		plan.Outcomes[kind] = append(plan.Outcomes[kind], outcome)
		plan.Stats[kind].Errors++
	}
	failAll(request.Categories, d.categories, Categories, fail)
	failAll(request.Items, d.items, Items, fail)
	failAll(request.OptionGroups, d.groups, OptionGroups, fail)
	failAll(request.Options, d.options, Options, fail)
	failAll(request.Taxes, d.taxes, Taxes, fail)
	failAll(request.Charges, d.charges, Charges, fail)
	return plan
}

func failAll[T, R any, P object[T]](submitted []Submitted[T], s *recordSet[R], kind Kind, fail func(Kind, bool)) {
	for i := range submitted {
		fail(kind, s.byKey[P(&submitted[i].Object).identity()] != nil)
	}
}
