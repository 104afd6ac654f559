package store

import (
	"slices"

	"github.com/servery-hub/servery/core"
)

// DefaultListing is where a store is listed that is created without platform lists.
type DefaultListing string

// The default listings. The specification's default of excluded_platforms is all platforms, so none.
const (
	ListNone DefaultListing = "none"
	ListAll  DefaultListing = "all"
)

// ParseDefaultListing returns Invalid for a text that is none of the default listings.
func ParseDefaultListing(text string) (DefaultListing, error) {
	switch d := DefaultListing(text); d {
	case ListNone, ListAll:
		return d, nil
	}
	return "", core.Errorf(core.Invalid, "list-stores must be all or none, not %q", text)
}

// resolve returns a submitted store with the platforms that its names stand for, and the warnings about these. Of a
// new store without platform lists it says where it is listed by default.
func resolve(o Object, known State) (Object, []core.Warning) {
	_, exists := known.Stores[*o.RefID]
	if !exists && o.ExcludedPlatforms == nil && o.IncludedPlatforms == nil && known.Default == ListAll {
		o.ExcludedPlatforms = []string{}
	}
	if o.ExcludedPlatforms != nil { // precedence of the spec: then the other list is not used
		o.IncludedPlatforms = nil
	}
	names := func(field string, list []string) ([]string, []core.Warning) {
		return core.ResolveNames(list, known.Names.Resolve), core.UnknownPlatforms(field, unknown(list, known.Names))
	}
	var warnings [4][]core.Warning
	o.ExcludedPlatforms, warnings[0] = names("excluded_platforms", o.ExcludedPlatforms)
	o.IncludedPlatforms, warnings[1] = names("included_platforms", o.IncludedPlatforms)
	called := make([]string, len(o.PlatformData))
	for i, data := range o.PlatformData {
		called[i] = data.Name
	}
	warnings[2] = core.UnknownPlatforms("platform_data", unknown(called, known.Names))
	data, dropped := core.ResolveEach(o.PlatformData, platformDataName, known.Names.Resolve)
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

// WithEventNames returns the store with the names by which events name the platforms.
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
	return s
}
