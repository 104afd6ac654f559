package menu

import (
	"fmt"
	"slices"
)

// hasStoreValues reports whether a store has its own values for a kind. Only these kinds can be flushed at a store.
func hasStoreValues(kind Kind) bool { return kind == Items || kind == Options }

// holdFlushes decides which flushes take effect. At a store these are only flushes of items and options. A flush that
// removes more than the guard allows is held until it is confirmed.
func (d *decider) holdFlushes() {
	for _, kind := range Kinds() {
		if !d.flush[kind] {
			continue
		}
		name := "flush_" + kind.String()
		if !d.master && !hasStoreValues(kind) {
			d.flush[kind] = false
			d.warn(name, name, "has no effect in a store request: it is for the master catalogue")
			continue
		}
		guard := d.request.FlushGuard
		if gone, of := d.countRemoved(kind); guard > 0 && gone*100 > of*guard && !d.request.ConfirmFlush {
			d.flush[kind] = false
			d.plan.Held[kind] = true
			everywhere := ""
			if len(d.soldAtStores(kind)) > 0 {
				everywhere = " and from the menus of the stores"
			}
			d.warn(name, fmt.Sprintf("The removal of %s that the request does not list (%s)", kind, name),
				fmt.Sprintf("was not applied. It would remove %d of %d %s from the menu%s. A request may remove at "+
					"most %d%% of the %s. Ask the developer of the POS whether this removal is intended. If so, the "+
					"POS must send the request with confirm_flush true", gone, of, kind, everywhere, guard, kind))
		}
	}
}

// warn adds a warning. The text continues the field's name.
func (d *decider) warn(path, field, text string) {
	d.plan.Warnings = append(d.plan.Warnings, Warning{Path: path, Message: field + " " + text})
}

// countRemoved counts what the flush of a kind removes, and the total.
func (d *decider) countRemoved(kind Kind) (gone, of int) {
	if !d.master {
		return len(d.unlistedAtStore(kind)), len(d.storeRefsOf(kind).ids())
	}
	atStores := d.soldAtStores(kind)
	gone, of = len(atStores), len(atStores)
	for _, entity := range d.recordsOf(kind).active() {
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

// soldAtStores returns the ref_ids of a kind that stores sell. A master flush removes all of these from the stores,
// listed or not. Categories do not count, because removing one from a store removes none of its items.
func (d *decider) soldAtStores(kind Kind) map[string]bool {
	if !d.master || !hasStoreValues(kind) {
		return nil
	}
	set := make(map[string]bool, len(d.state.StoreCounts[kind]))
	for _, at := range d.state.StoreCounts[kind] {
		set[at.RefID] = true
	}
	return set
}

// flushMasters deactivates the masters that a master request does not list, and removes the kind from every store.
func (d *decider) flushMasters(kind Kind) {
	if !d.master || !d.flush[kind] {
		return
	}
	d.plan.ClearedAtStores[kind] = kind == Categories || hasStoreValues(kind)
	gone := d.soldAtStores(kind)
	d.plan.Stats[kind].Deleted += len(gone)
	for _, entity := range d.recordsOf(kind).active() {
		if !entity.listed {
			d.plan.Deactivated[kind] = append(d.plan.Deactivated[kind], entity.named)
			entity.ref.Active = false
			if !gone[entity.named.RefID] {
				d.plan.Stats[kind].Deleted++
			}
		}
	}
}

// flushStore removes from the store the entities that a request for it does not list.
func (d *decider) flushStore(kind Kind) {
	if d.master || !d.flush[kind] {
		return
	}
	for _, id := range d.unlistedAtStore(kind) {
		d.remove(kind, Ref{ID: id, RefID: d.recordsOf(kind).name(id)}, d.storeRefsOf(kind).remove(id))
		d.plan.Stats[kind].Deleted++
	}
}

func (d *decider) unlistedAtStore(kind Kind) []int64 {
	listed := d.recordsOf(kind).listedIDs()
	return slices.DeleteFunc(slices.Clone(d.storeRefsOf(kind).ids()), func(id int64) bool { return listed[id] })
}

// remove records that the store no longer sells an entity, if it did.
func (d *decider) remove(kind Kind, ref Ref, was bool) bool {
	if was {
		d.plan.Store.Removed[kind] = append(d.plan.Store.Removed[kind], ref)
	}
	return was
}

// flushTarget is the part of an entity that a flush needs.
type flushTarget struct {
	ref    *Ref
	named  Ref // with the key as RefID if the kind has no ref_id
	listed bool
}

// flushRecords is the part of a recordSet that a flush needs.
type flushRecords interface {
	active() []flushTarget
	listedIDs() map[int64]bool
	name(id int64) string
}

// flushStoreRefs is the part of a storeRefSet that a flush needs.
type flushStoreRefs interface {
	ids() []int64
	remove(id int64) bool
}

func (d *decider) recordsOf(kind Kind) flushRecords {
	return PerKind[flushRecords]{d.categories, d.items, d.groups, d.options, d.taxes, d.charges}[kind]
}

func (d *decider) storeRefsOf(kind Kind) flushStoreRefs {
	if kind == Items {
		return d.storeItems
	}
	return d.storeOptions
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
