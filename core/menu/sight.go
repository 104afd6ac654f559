package menu

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// sight is what can be seen of a store's menu on a platform.
type sight struct {
	*atlas
	presence   *presence
	platform   core.Platform
	categories map[int64]bool
	items      map[int64]bool
	groups     map[int64]bool
	options    map[int64]bool
	ranks      map[int64]int // of option groups, as customers see them
}

func newSight(m *Menu, platform core.Platform, blocked map[int64]bool) *sight {
	a := newAtlas(m)
	s := &sight{atlas: a, presence: newPresence(a), platform: platform}
	open := s.openCategories()
	s.items = make(map[int64]bool, len(m.Items))
	for i := range m.Items {
		item := &m.Items[i]
		if !blocked[item.ID] && s.itemSeen(item, open) {
			s.items[item.ID] = true
		}
	}
	s.categories = s.categoriesInUse(open)
	s.seeOptions()
	return s
}

// openCategories are those that are active, under a parent that is.
func (s *sight) openCategories() map[int64]bool {
	active, open := map[int64]bool{}, map[int64]bool{}
	for i := range s.menu.Categories {
		active[s.menu.Categories[i].ID] = s.menu.Categories[i].Active
	}
	for i := range s.menu.Categories {
		c := &s.menu.Categories[i]
		open[c.ID] = c.Active && (c.ParentID == 0 || active[c.ParentID])
	}
	return open
}

// itemSeen tells whether an item can be ordered: active at the master, sold and
// available here, in stock, listed on the platform, and in no category that is
// closed: that makes all its items inactive (spec, Category).
func (s *sight) itemSeen(item *Item, open map[int64]bool) bool {
	here := s.presence.items[item.ID]
	if !item.Active || here == nil || !here.Available || here.CurrentStock == 0 {
		return false
	}
	if item.IncludedPlatforms != nil && !slices.Contains(read[[]string](item.IncludedPlatforms), s.platform.Name) {
		return false
	}
	return !slices.ContainsFunc(s.to[ItemCategory][item.ID], func(id int64) bool { return !open[id] })
}

// categoriesInUse are the open categories with an item to see, and their parents.
func (s *sight) categoriesInUse(open map[int64]bool) map[int64]bool {
	used := map[int64]bool{}
	for i := range s.menu.Categories {
		c := &s.menu.Categories[i]
		seen := func(item int64) bool { return s.items[item] }
		if open[c.ID] && slices.ContainsFunc(s.from[ItemCategory][c.ID], seen) {
			used[c.ID] = true
			if c.ParentID != 0 {
				used[c.ParentID] = true
			}
		}
	}
	return used
}

// seeOptions finds the option groups and options that can be come to from an
// item in sight. A group with no option to order is not seen.
func (s *sight) seeOptions() {
	orderable := make(map[int64]bool, len(s.menu.Options))
	for i := range s.menu.Options {
		o := &s.menu.Options[i]
		here := s.presence.options[o.ID]
		orderable[o.ID] = o.Active && here != nil && here.Available
	}
	serving := make(map[int64]bool, len(s.menu.OptionGroups))
	var start []int64
	for i := range s.menu.OptionGroups {
		g := &s.menu.OptionGroups[i]
		serving[g.ID] = g.Active && slices.ContainsFunc(s.from[OptionInGroup][g.ID], func(id int64) bool { return orderable[id] })
		if slices.ContainsFunc(s.to[GroupItem][g.ID], func(id int64) bool { return s.items[id] }) {
			start = append(start, g.ID)
		}
	}
	s.rank()
	s.groups = s.reach(serving, start, func(id int64) bool { return orderable[id] })
	s.options = make(map[int64]bool, len(orderable))
	for id, ok := range orderable {
		if ok && slices.ContainsFunc(s.to[OptionInGroup][id], func(group int64) bool { return s.groups[group] }) {
			s.options[id] = true
		}
	}
}

// rank notes the order of all option groups once, for the lists that name them.
func (s *sight) rank() {
	s.ranks = make(map[int64]int, len(s.menu.OptionGroups))
	for at, g := range inOrder(s.menu.OptionGroups, nil, groupOrder) {
		s.ranks[g.ID] = at
	}
}

// image chooses the picture for the platform: its own, else the default one,
// else the plain link (spec, Item).
func (s *sight) image(images jsontext.Value, plain *string) string {
	chosen := valueOf(plain)
	if images == nil { // most have none
		return chosen
	}
	for _, image := range read[[]Image](images) {
		switch image.Tag {
		case s.platform.Name:
			return image.URL
		case DefaultTag:
			chosen = image.URL
		}
	}
	return chosen
}

// tags chooses the tags for the platform: its own, else the default ones.
func (s *sight) tags(stored jsontext.Value) []string {
	tags := read[map[string][]string](stored)
	if own, has := tags[s.platform.Name]; has {
		return own
	}
	return tags[DefaultTag]
}
