package toggle

import (
	"slices"

	"github.com/servery-hub/servery/core"
)

// Accepted is the result of a request that was accepted.
type Accepted struct {
	Platforms int                       // whose outcomes follow as events
	Failed    []core.AvailabilityResult // items and options that could not be switched
	Warnings  []core.Warning
}

// UnlistedWarnings returns the warning about named platforms that do not list the store, or about a store that no
// platform lists. The named platforms are those of the request, without aliases.
func (r StoreRequest) UnlistedWarnings(named, listed []string) []core.Warning {
	const list = "excluded_platforms or included_platforms"
	switch {
	case len(listed) == 0 && len(named) == 0:
		return []core.Warning{{Path: "location_ref_id", Message: "the store is listed on no platform, so nothing was " +
			"switched; list it with " + list + ", then send this again"}}
	case len(listed) == 0:
		return []core.Warning{{Path: "location_ref_id", Message: "the store is listed on no platform; the change " +
			"counts once it is listed there, with " + list}}
	}
	var missing []string
	for i, name := range named {
		if !slices.Contains(listed, name) {
			missing = append(missing, r.Platforms[i])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return []core.Warning{{Path: "platforms", Message: "the store is not listed on " + core.QuoteNames(missing) +
		"; the change counts once it is listed there"}}
}

// UnlistedWarnings returns the warning about a store that no platform lists, by the number of those that do.
func (r ItemRequest) UnlistedWarnings(platforms int) []core.Warning {
	if platforms > 0 {
		return nil
	}
	return []core.Warning{{Path: "location_ref_id",
		Message: "the store is listed on no platform; its menu is changed, " +
			"and no platform is called"}}
}
