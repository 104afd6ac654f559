package store

import (
	"fmt"
	"maps"
	"slices"

	"github.com/servery-hub/servery/core"
)

// PlatformStore is a store as a platform that a plugin serves knows it: by an id of the
// platform's own, or where it was given none, and the store is listed there, by
// the store's ref_id.
type PlatformStore struct{ Platform, ID string }

// platformStores are those of a store on the platforms.
func platformStores(ref string, listing Listing, data []PlatformData, platforms []core.Platform) (list []PlatformStore) {
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

// with is a stored store as the fields that were sent make it.
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

// rejectTakenIDs notes against the stores of a request that a platform would know
// them by what it knows another store by: their menus would replace each other
// there. A store keeps what it was known by before, and those of one request may
// change places. Whoever is refused keeps its own, which may refuse another.
func rejectTakenIDs(objects []Object, known State, wrong []string) {
	kept, fresh := make([][]PlatformStore, len(wrong)), make([][]PlatformStore, len(wrong))
	for i, object := range objects {
		ref, stored := *object.RefID, known.Stores[*object.RefID]
		kept[i] = platformStores(ref, stored.Listing, stored.PlatformData, known.Platforms)
		then := stored.with(object)
		fresh[i] = platformStores(ref, then.Listing, then.PlatformData, known.Platforms)
	}
	for settled := false; !settled; {
		settled = true
		taken := maps.Clone(known.PlatformStores)
		if taken == nil {
			taken = map[PlatformStore]string{}
		}
		for i, object := range objects {
			for _, outlet := range kept[i] {
				if wrong[i] != "" || slices.Contains(fresh[i], outlet) {
					taken[outlet] = *object.RefID
				}
			}
		}
		for i, object := range objects {
			for _, outlet := range fresh[i] {
				if wrong[i] != "" || slices.Contains(kept[i], outlet) {
					continue
				}
				if other, is := taken[outlet]; is {
					wrong[i], settled = platformStoreTaken(outlet, other), false
				} else {
					taken[outlet] = *object.RefID
				}
			}
		}
	}
}

func platformStoreTaken(o PlatformStore, other string) string {
	return fmt.Sprintf("platform_data: platform %q already has store %q under the id %q", o.Platform, other, o.ID)
}
