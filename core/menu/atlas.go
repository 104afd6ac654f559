package menu

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// atlas finds its way in a Menu: who is called what, and who is linked to whom.
type atlas struct {
	menu  *Menu
	names PerKind[map[int64]string]
	to    PerRelation[map[int64][]int64] // from an owner, by position
	from  PerRelation[map[int64][]int64] // to an owner, by the owners' ids
}

func newAtlas(m *Menu) *atlas {
	a := &atlas{menu: m}
	a.names = PerKind[map[int64]string]{
		namesOf(m.Categories, m.Others[Categories]), namesOf(m.Items, m.Others[Items]),
		namesOf(m.OptionGroups, m.Others[OptionGroups]), namesOf(m.Options, m.Others[Options]),
	}
	for relation, links := range m.Links {
		a.to[relation], a.from[relation] = bothWays(links)
	}
	return a
}

func bothWays(links []Link) (to, from map[int64][]int64) {
	byPosition := func(a, b Link) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Position, b.Position), cmp.Compare(a.To, b.To))
	}
	if !slices.IsSortedFunc(links, byPosition) {
		links = slices.SortedFunc(slices.Values(links), byPosition)
	}
	to, from = make(map[int64][]int64, len(links)), make(map[int64][]int64, len(links))
	for _, link := range links {
		to[link.From] = append(to[link.From], link.To)
		from[link.To] = append(from[link.To], link.From)
	}
	return to, from
}

// record is a pointer to a master record.
type record[R any] interface {
	*R
	ref() *Ref
}

func namesOf[R any, P record[R]](records []R, others []Ref) map[int64]string {
	names := make(map[int64]string, len(records)+len(others))
	for i := range records {
		ref := P(&records[i]).ref()
		names[ref.ID] = ref.RefID
	}
	for _, ref := range others {
		names[ref.ID] = ref.RefID
	}
	return names
}

// called is the ref_ids of entities, in the given order; never nil, so that an
// entity without associations shows an empty list.
func (a *atlas) called(kind Kind, ids []int64) []string {
	refs := make([]string, 0, len(ids))
	for _, id := range ids {
		if name, known := a.names[kind][id]; known {
			refs = append(refs, name)
		}
	}
	return refs
}

// sorted is called, sorted: for associations that another entity owns.
func (a *atlas) sorted(kind Kind, ids []int64) []string {
	refs := a.called(kind, ids)
	slices.Sort(refs)
	return refs
}

// reach is the option groups that hang on the given items and options, and on
// the options in those groups that pass the test, and so on down.
func (a *atlas) reach(groups map[int64]bool, start []int64, option func(id int64) bool) map[int64]bool {
	reached := make(map[int64]bool, len(groups))
	for len(start) > 0 {
		group := start[len(start)-1]
		start = start[:len(start)-1]
		if reached[group] || !groups[group] {
			continue
		}
		reached[group] = true
		for _, id := range a.from[OptionInGroup][group] {
			if option(id) {
				start = append(start, a.to[GroupUnderneath][id]...)
			}
		}
	}
	return reached
}

// keysOf are the ids for which a set holds.
func keysOf(set map[int64]bool) []int64 { return slices.Sorted(maps.Keys(set)) }

func byRefID(a, b string) int { return strings.Compare(a, b) }
