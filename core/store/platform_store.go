package store

import (
	"fmt"
	"maps"
	"slices"

	"github.com/servery-hub/servery/core"
)

// PlatformStore identifies a store on a platform that a plugin serves. ID is the platform_store_id. If there is none
// and the store is listed on the platform, ID is the store's ref_id.
type PlatformStore struct{ Platform, ID string }

// platformStores returns the identities of a store on the platforms.
func platformStores(ref string, listing Listing, data []PlatformData,
	platforms []core.Platform) (list []PlatformStore) {
	for _, p := range platforms {
		id := ""
		if at := slices.IndexFunc(data, func(d PlatformData) bool { return d.Name == p.Name }); at >= 0 {
			id = data[at].PlatformStoreID
		}
		if id == "" && listing.ListedOn(p.Name) {
			id = ref
		}
		if id != "" && p.ServedBy != core.ServedByMerchant {
			list = append(list, PlatformStore{p.Name, id})
		}
	}
	return list
}

// with returns the stored store with the fields that were sent.
func (p Existing) with(o Object) Existing {
	switch {
	case o.ExcludedPlatforms != nil:
		p.Listing = Listing{Excluded: o.ExcludedPlatforms}
	case o.IncludedPlatforms != nil:
		p.Listing = Listing{Included: o.IncludedPlatforms}
	}
	if o.PlatformData != nil {
		p.PlatformData = o.PlatformData
	}
	return p
}

// rejectTakenIDs rejects stores whose platform store id belongs to another store, because their menus would replace
// each other on the platform. It writes the reasons to wrong. Stores of one request may exchange ids. A rejected store
// keeps its ids, so another store that wants them is rejected too.
func rejectTakenIDs(objects []Object, state State, wrong []string) {
	before, after := make([][]PlatformStore, len(wrong)), make([][]PlatformStore, len(wrong))
	for i, object := range objects {
		ref, stored := *object.RefID, state.Stores[*object.RefID]
		before[i] = platformStores(ref, stored.Listing, stored.PlatformData, state.Platforms)
		changed := stored.with(object)
		after[i] = platformStores(ref, changed.Listing, changed.PlatformData, state.Platforms)
	}
	for settled := false; !settled; { // each rejection can cause another
		settled = true
		taken := maps.Clone(state.PlatformStores)
		if taken == nil {
			taken = map[PlatformStore]string{}
		}
		for i, object := range objects {
			for _, id := range before[i] {
				if wrong[i] != "" || slices.Contains(after[i], id) {
					taken[id] = *object.RefID
				}
			}
		}
		for i, object := range objects {
			for _, id := range after[i] {
				if wrong[i] != "" || slices.Contains(before[i], id) {
					continue
				}
				if other, found := taken[id]; found {
					wrong[i], settled = platformStoreTaken(id, other), false
				} else {
					taken[id] = *object.RefID
				}
			}
		}
	}
}

// BelongsElsewhere ends the message about a platform_store_id of another business.
const BelongsElsewhere = "belongs to another business: ask the operator to remove it there"

// claims returns the data of a store with platform_store_ids that it did not have. An inactive store keeps no id from
// other businesses, so it claims all of them again when it becomes active.
func claims(o Object, state State) (list []PlatformData) {
	stored := state.Stores[*o.RefID]
	resumes := o.Active != nil && *o.Active && !stored.Active
	for _, data := range stored.with(o).PlatformData {
		if data.PlatformStoreID != "" && (resumes ||
			!slices.ContainsFunc(stored.PlatformData, func(d PlatformData) bool {
				return d.Name == data.Name && d.PlatformStoreID == data.PlatformStoreID
			})) {
			list = append(list, data)
		}
	}
	return list
}

// Claims returns the platform_store_ids that stores of the request did not have.
func (r Request) Claims(state State) (ids []string) {
	for _, submitted := range r.Stores {
		o, _ := resolve(submitted.Object, state)
		for _, data := range claims(o, state) {
			ids = append(ids, data.PlatformStoreID)
		}
	}
	return ids
}

// takenElsewhere rejects a claimed platform_store_id that a store of another business has. A shared URL would not know
// whose request it receives.
func takenElsewhere(o Object, state State) string {
	for _, data := range claims(o, state) {
		if state.TakenElsewhere[PlatformStore{data.Name, data.PlatformStoreID}] {
			return fmt.Sprintf("platform_data: the platform_store_id %q of platform %q %s", data.PlatformStoreID,
				data.Name, BelongsElsewhere)
		}
	}
	return ""
}

func platformStoreTaken(o PlatformStore, other string) string {
	return fmt.Sprintf("platform_data: platform %q already has store %q under the id %q", o.Platform, other, o.ID)
}
