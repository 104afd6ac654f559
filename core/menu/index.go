package menu

import (
	"cmp"
	"slices"
	"strings"
)

// menuIndex indexes a Menu: the ref_ids of entities, and their links in both directions.
type menuIndex struct {
	menu  *Menu
	names PerKind[map[int64]string]
	to    PerRelation[map[int64][]int64] // from an owner, by position
	from  PerRelation[map[int64][]int64] // to an owner, by the owners' ids
}

func newMenuIndex(m *Menu) *menuIndex {
	x := &menuIndex{menu: m}
	x.names = PerKind[map[int64]string]{
		refIDsByID(m.Categories, m.Others[Categories]), refIDsByID(m.Items, m.Others[Items]),
		refIDsByID(m.OptionGroups, m.Others[OptionGroups]), refIDsByID(m.Options, m.Others[Options]),
	}
	for relation, links := range m.Links {
		x.to[relation], x.from[relation] = indexLinks(links)
	}
	return x
}

func indexLinks(links []Link) (to, from map[int64][]int64) {
	links = sortedLinks(links)
	to, from = make(map[int64][]int64, len(links)), make(map[int64][]int64, len(links))
	for _, link := range links {
		to[link.From] = append(to[link.From], link.To)
		from[link.To] = append(from[link.To], link.From)
	}
	return to, from
}

// Compare orders links by owner, and those of one owner by position.
func (l Link) Compare(other Link) int {
	if l.From != other.From {
		return cmp.Compare(l.From, other.From)
	}
	return cmp.Or(cmp.Compare(l.Position, other.Position), cmp.Compare(l.To, other.To))
}

// sortedLinks returns the links sorted by owner and position.
func sortedLinks(links []Link) []Link {
	if slices.IsSortedFunc(links, Link.Compare) {
		return links
	}
	return slices.SortedFunc(slices.Values(links), Link.Compare)
}

// record is a pointer to a master record.
type record[R any] interface {
	*R
	ref() *Ref
}

func refIDsByID[R any, P record[R]](records []R, others []Ref) map[int64]string {
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

// refIDs returns the ref_ids of entities, in the given order. It is never nil, so that an entity without associations
// shows an empty list.
func (x *menuIndex) refIDs(kind Kind, ids []int64) []string {
	refs := make([]string, 0, len(ids))
	for _, id := range ids {
		if name, known := x.names[kind][id]; known {
			refs = append(refs, name)
		}
	}
	return refs
}

// sortedRefIDs returns the sorted ref_ids of entities, for associations that another entity owns.
func (x *menuIndex) sortedRefIDs(kind Kind, ids []int64) []string {
	refs := x.refIDs(kind, ids)
	slices.Sort(refs)
	return refs
}

func byRefID(a, b string) int { return strings.Compare(a, b) }
