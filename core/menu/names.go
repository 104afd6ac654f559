package menu

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// This file resolves the names of platforms. Stored records use the platforms' own names, so aliases in a request are
// resolved before it is applied. When an alias is added later, stored occurrences are replaced.

func tagOf(i *Image) *string              { return &i.Tag }
func platformOf(p *PlatformPrice) *string { return &p.Platform }

// resolveItem returns the object with aliases replaced by platform names, and the warnings about the names.
func (d *decider) resolveItem(o *ItemObject) (*ItemObject, []Warning) {
	resolved := *o
	var warnings [4][]Warning
	resolved.Images, warnings[0] = d.resolveImages(o.Images)
	resolved.Tags, warnings[1] = d.resolveTags(o.Tags)
	resolved.IncludedPlatforms, warnings[2] = d.resolveList("included_platforms", o.IncludedPlatforms)
	resolved.PlatformPricing, warnings[3] = resolveParts(d, "platform_pricing", o.PlatformPricing, platformOf)
	return &resolved, slices.Concat(warnings[:]...)
}

func (d *decider) resolveImages(images []Image) ([]Image, []Warning) {
	return resolveParts(d, "images", images, tagOf, DefaultTag)
}

func (d *decider) resolveTags(tags map[string][]string) (map[string][]string, []Warning) {
	names := slices.Sorted(maps.Keys(tags))
	resolved, dropped := renameTags(tags, d.state.Names.Resolve)
	return resolved, asWarnings(append(core.UnknownPlatforms("tags", d.unknown(names, DefaultTag)),
		core.DuplicatePlatforms("tags", dropped)...))
}

// resolveList resolves a list of names. It lists each platform once.
func (d *decider) resolveList(field string, list []string) ([]string, []Warning) {
	return core.ResolveNames(list, d.state.Names.Resolve), asWarnings(core.UnknownPlatforms(field, d.unknown(list)))
}

// resolveParts resolves the platform names of a list. It keeps one element for each platform.
func resolveParts[T any](d *decider, field string, list []T, name func(*T) *string,
	others ...string) ([]T, []Warning) {
	names := make([]string, len(list))
	for i := range list {
		names[i] = *name(&list[i])
	}
	resolved, dropped := core.ResolveEach(list, name, d.state.Names.Resolve)
	return resolved, asWarnings(append(core.UnknownPlatforms(field, d.unknown(names, others...)),
		core.DuplicatePlatforms(field, dropped)...))
}

// unknown returns the names that stand for no platform of the business, and are none of the others that are allowed.
func (d *decider) unknown(names []string, others ...string) (unknown []string) {
	for _, name := range names {
		if !d.state.Names.Known(name) && !slices.Contains(others, name) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// renameTags returns tags under other names, and the names that it drops because another name stands for the same
// platform. It returns the tags themselves if nothing changes.
func renameTags(tags map[string][]string, rename func(string) string) (map[string][]string, []string) {
	names := slices.Sorted(maps.Keys(tags))
	if !slices.ContainsFunc(names, func(name string) bool { return rename(name) != name }) {
		return tags, nil
	}
	resolved, dropped := core.ResolveEach(names, func(s *string) *string { return s }, rename)
	renamed := make(map[string][]string, len(resolved))
	for _, name := range names {
		if !slices.Contains(dropped, name) {
			renamed[rename(name)] = tags[name]
		}
	}
	return renamed, dropped
}

// RenamePlatforms replaces the names of platforms in the record of an item, and reports whether any was replaced.
func (i *Item) RenamePlatforms(rename func(string) string) (changed bool) {
	renameParts(&changed, &i.Images, tagOf, rename)
	renameNames(&changed, &i.IncludedPlatforms, rename)
	if len(i.Tags) > 0 {
		tags := decodeDocument[map[string][]string](i.Tags)
		renamed, _ := renameTags(tags, rename)
		setDocument(&changed, &i.Tags, encodeDocument(renamed, true))
	}
	return i.ItemValues.RenamePlatforms(rename) || changed
}

// RenamePlatforms replaces the names of platforms in the values of an item, and reports whether any was replaced.
func (v *ItemValues) RenamePlatforms(rename func(string) string) (changed bool) {
	if len(v.PlatformPricing) == 0 {
		return false
	}
	prices, _ := core.ResolveEach(decodeDocument[[]PlatformPrice](v.PlatformPricing), platformOf, rename)
	slices.SortFunc(prices, func(a, b PlatformPrice) int { return strings.Compare(a.Platform, b.Platform) })
	setDocument(&changed, &v.PlatformPricing, encodeDocument(prices, true))
	return changed
}

// RenamePlatforms replaces the names of platforms in the record of an option, and reports whether any was replaced.
func (o *Option) RenamePlatforms(rename func(string) string) (changed bool) {
	renameParts(&changed, &o.Images, tagOf, rename)
	return changed
}

// RenamePlatforms replaces the names of platforms in the record of a charge, and reports whether any was replaced.
func (r *Charge) RenamePlatforms(rename func(string) string) (changed bool) {
	renameNames(&changed, &r.ExcludedPlatforms, rename)
	return changed
}

func renameNames(changed *bool, doc *jsontext.Value, rename func(string) string) {
	renameParts(changed, doc, func(s *string) *string { return s }, rename)
}

func renameParts[T any](changed *bool, doc *jsontext.Value, name func(*T) *string, rename func(string) string) {
	if len(*doc) == 0 {
		return
	}
	renamed, _ := core.ResolveEach(decodeDocument[[]T](*doc), name, rename)
	setDocument(changed, doc, encodeDocument(renamed, true))
}
