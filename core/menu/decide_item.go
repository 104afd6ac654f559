package menu

import (
	"maps"
	"slices"
)

func (d *decider) item(o *ItemObject, s *slot[Item]) verdict {
	if s.isNew && o.Title == nil {
		return failed("title is required to create an item")
	}
	categories, problem := d.categoriesOf(o)
	if problem == "" {
		problem = d.platformsOf(o)
	}
	if problem != "" {
		return failed("%s", problem)
	}
	r := &s.record
	s.changed = r.apply(o)
	if d.master || s.isNew {
		s.changed = r.ItemValues.apply(o) || s.changed
	}
	if d.master {
		setOptional(&s.changed, &r.SoldAtStore, o.SoldAtStore)
		activate(&s.changed, &r.Active, nil, d.flush[Items] || isTrue(o.Available))
	} else if s.isNew {
		r.PlatformPricing, r.Available = nil, true // those were meant for the store
	}
	v := verdict{changed: d.linkItem(o, r.ID, categories)}
	if d.master {
		return v
	}
	if o.SoldAtStore != nil && !*o.SoldAtStore {
		v.removed = d.remove(Items, r.Ref, d.atItems.take(r.ID))
		v.changed = v.changed || v.removed
		return v
	}
	ofMaster := r.ItemValues
	ofMaster.PlatformPricing = nil
	v.changed = d.atItems.place(r.ID, ofMaster, func(values *ItemValues) bool { return values.apply(o) }) || v.changed
	s.changed = enable(o.Available, &r.Active, &r.Available) || s.changed
	return v
}

func (d *decider) linkItem(o *ItemObject, id int64, categories []int64) (changed bool) {
	inCategories, inGroups := d.links[ItemCategory], d.links[GroupItem]
	beforeCategories, beforeGroups := inCategories.mark(), inGroups.mark()
	if o.CategoryRefIDs != nil {
		inCategories.replace(id, categories)
	}
	if o.ClearOptionGroups {
		inGroups.clearTo(id)
	}
	return inCategories.differs(beforeCategories) || inGroups.differs(beforeGroups)
}

// enable carries an availability of true at a store up to the master (spec, States).
func enable(available *bool, ofMaster ...*bool) (changed bool) {
	if isTrue(available) {
		for _, field := range ofMaster {
			set(&changed, field, available)
		}
	}
	return changed
}

func isTrue(b *bool) bool { return b != nil && *b }

// platformsOf names the first platform of an item that the business does not have.
func (d *decider) platformsOf(o *ItemObject) (problem string) {
	if problem = d.unknownTag(o.Images); problem != "" {
		return problem
	}
	for _, name := range slices.Sorted(maps.Keys(o.Tags)) {
		if name != DefaultTag && !d.platforms[name] {
			return unknownPlatform("tags", name)
		}
	}
	if problem = d.unknownPlatforms("included_platforms", o.IncludedPlatforms); problem != "" {
		return problem
	}
	for _, price := range o.PlatformPricing {
		if !d.platforms[price.Platform] {
			return unknownPlatform("platform_pricing", price.Platform)
		}
	}
	return ""
}

func (d *decider) unknownTag(images []Image) (problem string) {
	for _, image := range images {
		if image.Tag != DefaultTag && !d.platforms[image.Tag] {
			return unknownPlatform("images", image.Tag)
		}
	}
	return ""
}

func (d *decider) unknownPlatforms(field string, names []string) (problem string) {
	for _, name := range names {
		if !d.platforms[name] {
			return unknownPlatform(field, name)
		}
	}
	return ""
}
