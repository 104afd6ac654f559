package menu

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// memoryDB is the database of one business in memory. It loads only what a ReadSet lists, and writes a plan in the
// order that Plan documents.
type memoryDB struct {
	t          require.TestingT
	rules      Rules
	platforms  []string
	aliases    []core.PlatformAlias
	categories map[int64]Category
	items      map[int64]Item
	groups     map[int64]OptionGroup
	options    map[int64]Option
	taxes      map[int64]Tax
	charges    map[int64]Charge
	links      PerRelation[map[linkEnds]int32]
	stores     map[string]*storeRows // by ref_id
	lastID     int64
}

// storeRows holds the references of one store.
type storeRows struct {
	id         int64
	categories map[int64]bool
	items      map[int64]ItemValues
	options    map[int64]OptionValues
}

func newMemoryDB(t require.TestingT, v *Vocabulary, country string) *memoryDB {
	h := &memoryDB{
		t: t, rules: Rules{Country: country, Vocabulary: v},
		platforms:  []string{"web", "app", "aggregator-a", "tasty-eats"},
		categories: map[int64]Category{}, items: map[int64]Item{}, groups: map[int64]OptionGroup{},
		options: map[int64]Option{}, taxes: map[int64]Tax{}, charges: map[int64]Charge{},
		stores: map[string]*storeRows{},
	}
	for relation := range h.links {
		h.links[relation] = map[linkEnds]int32{}
	}
	for i, ref := range []string{"S1", "S2"} {
		h.stores[ref] = &storeRows{id: int64(i + 1), categories: map[int64]bool{}, items: map[int64]ItemValues{},
			options: map[int64]OptionValues{}}
	}
	return h
}

func (h *memoryDB) scope(location string) Scope {
	if location == MasterLocation {
		return MasterScope()
	}
	return Scope{LocationRefID: location, StoreID: h.stores[location].id}
}

// send decodes, plans and writes a request.
func (h *memoryDB) send(location, body string) (Request, Plan) {
	request, err := Decode([]byte(body), h.scope(location), h.rules)
	require.NoError(h.t, err)
	plan := h.plan(request)
	h.write(plan)
	return request, plan
}

func (h *memoryDB) plan(request Request) Plan {
	return Decide(request, h.load(request), func() int64 { h.lastID++; return h.lastID })
}

func (h *memoryDB) load(request Request) State {
	needs := request.ReadSet()
	state := State{Names: core.NewPlatformNames(h.platforms, h.aliases...)}
	wanted := func(kind Kind) (named, referred map[string]bool) {
		return asSet(needs.Entities[kind].Named), asSet(needs.Entities[kind].Referred)
	}
	cNamed, cReferred := wanted(Categories)
	full := map[int64]bool{}
	for id, c := range h.categories {
		parent := h.categories[c.ParentID].RefID
		full[id] = cNamed[c.RefID] || cReferred[c.RefID] || c.ParentID != 0 && (cNamed[parent] || cReferred[parent])
	}
	shop := h.stores[request.Scope.LocationRefID]
	state.Categories, state.Others[Categories] = part(h.categories, func(id int64, r Ref) (bool, bool) {
		return full[id], needs.Entities[Categories].Active && r.Active
	})
	iNamed, iReferred := wanted(Items)
	state.Items, state.Others[Items] = part(h.items, func(id int64, r Ref) (bool, bool) {
		sold := false
		if shop != nil {
			_, sold = shop.items[id]
		}
		w := needs.Entities[Items]
		return iNamed[r.RefID], iReferred[r.RefID] || w.Active && r.Active || w.AtStore && sold
	})
	h.loadOptions(needs, shop, &state)
	if needs.Entities[Taxes].Active {
		state.Taxes, _ = part(h.taxes, func(int64, Ref) (bool, bool) { return true, false })
	}
	if needs.Entities[Charges].Active {
		state.Charges, _ = part(h.charges, func(int64, Ref) (bool, bool) { return true, false })
	}
	h.loadLinks(needs, &state)
	h.loadStoreCounts(needs, &state)
	if shop != nil {
		h.loadStore(needs, shop, &state)
	}
	return state
}

func (h *memoryDB) loadStoreCounts(needs ReadSet, state *State) {
	if needs.Entities[Items].Active {
		state.StoreCounts[Items] = storeCounts(h, h.items, func(s *storeRows) map[int64]ItemValues { return s.items })
	}
	if needs.Entities[Options].Active {
		state.StoreCounts[Options] = storeCounts(h, h.options,
			func(s *storeRows) map[int64]OptionValues { return s.options })
	}
}

func storeCounts[R, V any, P stored[R]](h *memoryDB, masters map[int64]R,
	sold func(*storeRows) map[int64]V) (list []Disassociation) {
	stores := map[int64]int{}
	for _, s := range h.stores {
		for id := range sold(s) {
			stores[id]++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(stores)) {
		master := masters[id]
		list = append(list, Disassociation{P(&master).ref().RefID, stores[id]})
	}
	return list
}

func (h *memoryDB) loadOptions(needs ReadSet, shop *storeRows, state *State) {
	nested := map[int64]bool{} // ids are unique across kinds
	if needs.Nesting {
		for at := range h.links[NestedGroup] {
			nested[at.to], nested[at.from] = true, true
			for in := range h.links[OptionInGroup] {
				nested[in.to] = nested[in.to] || in.from == at.from
			}
		}
	}
	g := needs.Entities[OptionGroups]
	state.OptionGroups, state.Others[OptionGroups] = part(h.groups, func(id int64, r Ref) (bool, bool) {
		return slices.Contains(g.Named, r.RefID), slices.Contains(g.Referred, r.RefID) || g.Active && r.Active ||
			nested[id]
	})
	o := needs.Entities[Options]
	state.Options, state.Others[Options] = part(h.options, func(id int64, r Ref) (bool, bool) {
		sold := false
		if shop != nil {
			_, sold = shop.options[id]
		}
		return slices.Contains(o.Named, r.RefID), o.Active && r.Active || o.AtStore && sold || nested[id]
	})
}

func (h *memoryDB) loadLinks(needs ReadSet, state *State) {
	items, groups := asSet(needs.Entities[Items].Named), asSet(needs.Entities[OptionGroups].Named)
	options, clearedItems, clearedGroups := asSet(needs.Entities[Options].Named), asSet(needs.ClearedItems),
		asSet(needs.ClearedGroups)
	nests := map[int64]bool{}
	for at := range h.links[NestedGroup] {
		nests[at.from] = needs.Nesting
	}
	keep := PerRelation[func(linkEnds) bool]{
		func(at linkEnds) bool { return items[h.items[at.from].RefID] },
		func(at linkEnds) bool { return groups[h.groups[at.from].RefID] || clearedItems[h.items[at.to].RefID] },
		func(at linkEnds) bool {
			return options[h.options[at.from].RefID] || clearedGroups[h.groups[at.to].RefID] || nests[at.from]
		},
		func(at linkEnds) bool { return needs.Nesting },
		func(at linkEnds) bool { return needs.Entities[Taxes].Active },
		func(at linkEnds) bool { return needs.Entities[Charges].Active },
	}
	for relation, links := range h.links {
		state.Links[relation] = linkList(links, keep[relation])
	}
}

func (h *memoryDB) loadStore(needs ReadSet, shop *storeRows, state *State) {
	items, options := asSet(needs.Entities[Items].Named), asSet(needs.Entities[Options].Named)
	state.Store.Categories = slices.Sorted(maps.Keys(shop.categories))
	for _, id := range slices.Sorted(maps.Keys(shop.items)) {
		if items[h.items[id].RefID] || needs.Entities[Items].AtStore {
			state.Store.Items = append(state.Store.Items, AtStore[ItemValues]{id, shop.items[id]})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(shop.options)) {
		if options[h.options[id].RefID] || needs.Entities[Options].AtStore {
			state.Store.Options = append(state.Store.Options, AtStore[OptionValues]{id, shop.options[id]})
		}
	}
}

// write applies a plan in the documented order.
func (h *memoryDB) write(p Plan) {
	for _, shop := range h.stores {
		if p.ClearedAtStores[Categories] {
			clear(shop.categories)
		}
		if p.ClearedAtStores[Items] {
			clear(shop.items)
		}
		if p.ClearedAtStores[Options] {
			clear(shop.options)
		}
	}
	deactivate(h.categories, p.Deactivated[Categories])
	deactivate(h.items, p.Deactivated[Items])
	deactivate(h.groups, p.Deactivated[OptionGroups])
	deactivate(h.options, p.Deactivated[Options])
	deactivate(h.taxes, p.Deactivated[Taxes])
	deactivate(h.charges, p.Deactivated[Charges])
	put(h.t, h.categories, p.Categories)
	put(h.t, h.items, p.Items)
	put(h.t, h.groups, p.OptionGroups)
	put(h.t, h.options, p.Options)
	put(h.t, h.taxes, p.Taxes)
	put(h.t, h.charges, p.Charges)
	for relation, change := range p.Links {
		for _, link := range change.Remove {
			require.Contains(h.t, h.links[relation], linkEnds{link.From, link.To})
			delete(h.links[relation], linkEnds{link.From, link.To})
		}
		for _, link := range change.Put {
			h.links[relation][linkEnds{link.From, link.To}] = link.Position
		}
	}
	if shop := h.stores[p.Scope.LocationRefID]; shop != nil {
		h.writeStore(shop, p.Store)
	}
}

func (h *memoryDB) writeStore(shop *storeRows, change StoreChange) {
	for _, ref := range change.Removed[Items] {
		require.Contains(h.t, shop.items, ref.ID)
		delete(shop.items, ref.ID)
	}
	for _, ref := range change.Removed[Options] {
		require.Contains(h.t, shop.options, ref.ID)
		delete(shop.options, ref.ID)
	}
	for _, id := range change.Categories {
		shop.categories[id] = true
	}
	for _, c := range change.Items {
		_, exists := shop.items[c.Record.ID]
		require.Equal(h.t, c.New, !exists)
		shop.items[c.Record.ID] = c.Record.Values
	}
	for _, c := range change.Options {
		_, exists := shop.options[c.Record.ID]
		require.Equal(h.t, c.New, !exists)
		shop.options[c.Record.ID] = c.Record.Values
	}
}

type stored[R any] interface {
	*R
	ref() *Ref
}

func part[R any, P stored[R]](all map[int64]R, keep func(int64, Ref) (full, other bool)) (records []R, others []Ref) {
	for _, id := range slices.Sorted(maps.Keys(all)) {
		record := all[id]
		switch full, other := keep(id, *P(&record).ref()); {
		case full:
			records = append(records, record)
		case other:
			others = append(others, *P(&record).ref())
		}
	}
	return records, others
}

func put[R any, P stored[R]](t require.TestingT, all map[int64]R, changes []Change[R]) {
	for i := range changes {
		id := P(&changes[i].Record).ref().ID
		_, exists := all[id]
		require.Equal(t, changes[i].New, !exists)
		all[id] = changes[i].Record
	}
}

func deactivate[R any, P stored[R]](all map[int64]R, refs []Ref) {
	for _, ref := range refs {
		record := all[ref.ID]
		P(&record).ref().Active = false
		all[ref.ID] = record
	}
}

func linkList(links map[linkEnds]int32, keep func(linkEnds) bool) []Link {
	var list []Link
	for at, position := range links {
		if keep(at) {
			list = append(list, Link{at.from, at.to, position})
		}
	}
	slices.SortFunc(list, func(a, b Link) int {
		if a.From != b.From {
			return int(a.From - b.From)
		}
		return int(a.Position - b.Position)
	})
	return list
}

func asSet(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

// menu returns the whole stored menu, with the references of one store.
func (h *memoryDB) menu(location string) Menu {
	everything := func(int64, Ref) (bool, bool) { return true, false }
	var m Menu
	m.Categories, _ = part(h.categories, everything)
	m.Items, _ = part(h.items, everything)
	m.OptionGroups, _ = part(h.groups, everything)
	m.Options, _ = part(h.options, everything)
	m.Taxes, _ = part(h.taxes, everything)
	m.Charges, _ = part(h.charges, everything)
	for relation, links := range h.links {
		m.Links[relation] = linkList(links, func(linkEnds) bool { return true })
	}
	if shop := h.stores[location]; shop != nil {
		m.Store.Categories = slices.Sorted(maps.Keys(shop.categories))
		for _, id := range slices.Sorted(maps.Keys(shop.items)) {
			m.Store.Items = append(m.Store.Items, AtStore[ItemValues]{id, shop.items[id]})
		}
		for _, id := range slices.Sorted(maps.Keys(shop.options)) {
			m.Store.Options = append(m.Store.Options, AtStore[OptionValues]{id, shop.options[id]})
		}
	}
	return m
}

func TestReimportingARealMenuChangesNothing(t *testing.T) {
	for name, country := range map[string]string{
		"menu-fastfood.json": "US", "menu-drinks.json": "US", "menu-indian-foods.json": "IN",
		"menu-square-sample.json": "US",
	} {
		t.Run(name, func(t *testing.T) {
			body := string(realFile(t, name))
			h := newMemoryDB(t, fakeVocabulary(t), country)
			request, plan := h.send(MasterLocation, body)
			require.Empty(t, plan.Warnings)
			for kind, raws := range request.raws() {
				require.Equal(t, Stats{Created: len(raws)}, plan.Stats[kind], Kind(kind))
			}
			_, again := h.send(MasterLocation, body)
			require.False(t, again.HasChanges())
			for kind, raws := range request.raws() {
				require.Equal(t, Stats{Updated: len(raws)}, again.Stats[kind], Kind(kind))
			}
			_, atStore := h.send("S1", body)
			require.Len(t, atStore.Store.Items, len(request.Items))
			require.Empty(t, atStore.Items)
			_, atStoreAgain := h.send("S1", body)
			require.False(t, atStoreAgain.HasChanges())
		})
	}
}
