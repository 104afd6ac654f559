package menu

import (
	"fmt"
	"slices"
)

// storeValued reports whether a store has its own values for a kind. Only these kinds can be flushed at a store
// (spec, States).
func storeValued(kind Kind) bool { return kind == Items || kind == Options }

// holdFlushes decides which flushes take effect. At a store these are only flushes of items and options. A flush that
// removes more than the guard allows is held until it is confirmed.
func (d *decider) holdFlushes() {
	for _, kind := range Kinds() {
		if !d.flush[kind] {
			continue
		}
		name := "flush_" + kind.String()
		if !d.master && !storeValued(kind) {
			d.flush[kind] = false
			d.warn(name, name, "has no effect in a store request: it is for the master catalogue")
			continue
		}
		guard := d.request.FlushGuard
		if gone, of := d.wouldGo(kind); guard > 0 && gone*100 > of*guard && !d.request.ConfirmFlush {
			d.flush[kind] = false
			d.plan.Held[kind] = true
			everywhere := ""
			if len(d.atStores(kind)) > 0 {
				everywhere = ", including those of the stores"
			}
			d.warn(name, name,
				fmt.Sprintf("was not applied. It would remove %d of %d %s from the menu%s. At most %d%% is allowed. "+
					"To apply it, send the request with confirm_flush true",
					gone, of, kind, everywhere, guard))
		}
	}
}

// warn adds a warning. The text continues the field's name.
func (d *decider) warn(path, field, text string) {
	d.plan.Warnings = append(d.plan.Warnings, Warning{Path: path, Message: field + " " + text})
}

// wouldGo counts what the flush of a kind removes, and the total.
func (d *decider) wouldGo(kind Kind) (gone, of int) {
	if !d.master {
		return len(d.unlistedAtStore(kind)), len(d.reserve(kind).ids())
	}
	atStores := d.atStores(kind)
	gone, of = len(atStores), len(atStores)
	for _, entity := range d.registry(kind).active() {
		if atStores[entity.named.RefID] {
			continue
		}
		of++
		if !entity.listed {
			gone++
		}
	}
	return gone, of
}

// atStores returns the ref_ids of a kind that stores sell. A master flush removes all of these from the stores,
// listed or not. Categories do not count, because removing one from a store removes none of its items.
func (d *decider) atStores(kind Kind) map[string]bool {
	if !d.master || !storeValued(kind) {
		return nil
	}
	set := make(map[string]bool, len(d.state.Spread[kind]))
	for _, at := range d.state.Spread[kind] {
		set[at.RefID] = true
	}
	return set
}

// flushMasters deactivates what a master request does not list, and removes the kind from every store (spec, States).
func (d *decider) flushMasters(kind Kind) {
	if !d.master || !d.flush[kind] {
		return
	}
	d.plan.Emptied[kind] = kind == Categories || storeValued(kind)
	gone := d.atStores(kind)
	d.plan.Stats[kind].Deleted += len(gone)
	for _, entity := range d.registry(kind).active() {
		if !entity.listed {
			d.plan.Deactivated[kind] = append(d.plan.Deactivated[kind], entity.named)
			entity.ref.Active = false
			if !gone[entity.named.RefID] {
				d.plan.Stats[kind].Deleted++
			}
		}
	}
}

// flushStore removes from the store what a request for it does not list (spec, States).
func (d *decider) flushStore(kind Kind) {
	if d.master || !d.flush[kind] {
		return
	}
	for _, id := range d.unlistedAtStore(kind) {
		d.remove(kind, Ref{ID: id, RefID: d.registry(kind).name(id)}, d.reserve(kind).take(id))
		d.plan.Stats[kind].Deleted++
	}
}

func (d *decider) unlistedAtStore(kind Kind) []int64 {
	listed := d.registry(kind).listedIDs()
	return slices.DeleteFunc(slices.Clone(d.reserve(kind).ids()), func(id int64) bool { return listed[id] })
}

// remove records that the store no longer sells something, if it did.
func (d *decider) remove(kind Kind, ref Ref, was bool) bool {
	if was {
		d.plan.Store.Removed[kind] = append(d.plan.Store.Removed[kind], ref)
	}
	return was
}

// flushable is the view of an entity that a flush needs.
type flushable struct {
	ref    *Ref
	named  Ref // with the key instead of a ref_id that the kind does not have
	listed bool
}

// registry is the view of a shelf that a flush needs.
type registry interface {
	active() []flushable
	listedIDs() map[int64]bool
	name(id int64) string
}

// reserve is the view of a counter that a flush needs.
type reserve interface {
	ids() []int64
	take(id int64) bool
}

func (d *decider) registry(kind Kind) registry {
	return PerKind[registry]{d.categories, d.items, d.groups, d.options, d.taxes, d.charges}[kind]
}

func (d *decider) reserve(kind Kind) reserve {
	if kind == Items {
		return d.atItems
	}
	return d.atOptions
}

// ignoredFlag is a flag that has an effect only in a master request.
type ignoredFlag struct {
	kind  Kind
	field string
}

// mayClear reports whether a master-only flag takes effect, and records it if it does not.
func (d *decider) mayClear(kind Kind, field string, sent bool) bool {
	if sent && !d.master {
		flag := ignoredFlag{kind, field}
		if d.ignored[flag]++; d.ignored[flag] == 1 {
			d.ignoredOrder = append(d.ignoredOrder, flag)
		}
	}
	return sent && d.master
}

func (d *decider) warnOfIgnoredFlags() {
	for _, flag := range d.ignoredOrder {
		d.warn(flag.kind.String()+"[]."+flag.field, flag.field, fmt.Sprintf(
			"has no effect in a store request: it is for the master catalogue (%d %s sent)",
			d.ignored[flag], flag.kind))
	}
}
