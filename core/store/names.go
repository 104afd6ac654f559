package store

import (
	"slices"

	"github.com/servery-hub/servery/core"
)

// DefaultListing is where a store is listed that is created without platform lists.
type DefaultListing string

// The default listings.
const (
	ListNone DefaultListing = "none"
	ListAll  DefaultListing = "all"
)

// ParseDefaultListing parses a default listing. It returns Invalid for any other text.
func ParseDefaultListing(text string) (DefaultListing, error) {
	switch d := DefaultListing(text); d {
	case ListNone, ListAll:
		return d, nil
	}
	return "", core.Errorf(core.Invalid, "list-stores must be all or none, not %q", text)
}

// resolve returns a submitted store with aliases replaced by platform names, and the warnings about the names. A new
// store without platform lists gets the default listing.
func resolve(o Object, state State) (Object, []core.Warning) {
	_, exists := state.Stores[*o.RefID]
	if !exists && o.ExcludedPlatforms == nil && o.IncludedPlatforms == nil && state.Default == ListAll {
		o.ExcludedPlatforms = []string{}
	}
	if o.ExcludedPlatforms != nil { // it takes precedence over the other list
		o.IncludedPlatforms = nil
	}
	names := func(field string, list []string) ([]string, []core.Warning) {
		return core.ResolveNames(list, state.Names.Resolve), core.UnknownPlatforms(field, unknown(list, state.Names))
	}
	var warnings [4][]core.Warning
	o.ExcludedPlatforms, warnings[0] = names("excluded_platforms", o.ExcludedPlatforms)
	o.IncludedPlatforms, warnings[1] = names("included_platforms", o.IncludedPlatforms)
	inData := make([]string, len(o.PlatformData))
	for i, data := range o.PlatformData {
		inData[i] = data.Name
	}
	warnings[2] = core.UnknownPlatforms("platform_data", unknown(inData, state.Names))
	data, dropped := core.ResolveEach(o.PlatformData, platformDataName, state.Names.Resolve)
	o.PlatformData, warnings[3] = data, core.DuplicatePlatforms("platform_data", dropped)
	return o, slices.Concat(warnings[:]...)
}

func platformDataName(d *PlatformData) *string { return &d.Name }

// unknown returns the names that stand for no platform of the business.
func unknown(list []string, names core.PlatformNames) (unknown []string) {
	for _, name := range list {
		if !names.Known(name) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// RenamePlatforms replaces the names of platforms in a store's lists and data, and reports whether any was replaced.
func (p *Existing) RenamePlatforms(rename func(string) string) (changed bool) {
	names := func(list *[]string) {
		renamed := core.ResolveNames(*list, rename)
		changed = changed || !slices.Equal(renamed, *list)
		*list = renamed
	}
	names(&p.Excluded)
	names(&p.Included)
	data, _ := core.ResolveEach(p.PlatformData, platformDataName, rename)
	changed = changed || !slices.Equal(data, p.PlatformData)
	p.PlatformData = data
	return changed
}

// WithEventNames returns the store with the platform names that events use.
func (s Stored) WithEventNames(names core.PlatformNames) Stored {
	if !names.HasEventAliases() {
		return s
	}
	p := Existing{Listing: Listing{s.ExcludedPlatforms, s.IncludedPlatforms}, PlatformData: s.PlatformData}
	p.RenamePlatforms(names.EventName)
	s.ExcludedPlatforms, s.IncludedPlatforms, s.PlatformData = p.Excluded, p.Included, p.PlatformData
	s.ClosedOn = slices.Clone(s.ClosedOn)
	for i := range s.ClosedOn {
		s.ClosedOn[i].Platform = names.EventName(s.ClosedOn[i].Platform)
	}
	s.BusyOn = slices.Clone(s.BusyOn)
	for i := range s.BusyOn {
		s.BusyOn[i].Platform = names.EventName(s.BusyOn[i].Platform)
	}
	s.PlatformStatus = slices.Clone(s.PlatformStatus)
	for i := range s.PlatformStatus {
		s.PlatformStatus[i].Platform = names.EventName(s.PlatformStatus[i].Platform)
	}
	return s
}
