package menu

import (
	"slices"

	"github.com/servery-hub/servery/core"
)

// The entities of findings. FoundStore is the only one that is not in a menu.
const (
	FoundItem     = "item"
	FoundCategory = "category"
	FoundGroup    = "option_group"
	FoundOption   = "option"
	FoundStore    = "store"
)

// foundKinds are the kinds of menu entities that a finding can name.
var foundKinds = map[string]Kind{FoundItem: Items, FoundCategory: Categories, FoundGroup: OptionGroups,
	FoundOption: Options}

// FoundObject is an object that a finding names.
type FoundObject struct{ Entity, RefID string }

// Found holds the findings of a platform.
type Found map[FoundObject][]Finding

// Check is what a platform's rules are applied to.
type Check struct {
	Items   []*Item
	Stores  []int64        // ids
	Context *EffectiveMenu // what the items belong to; of its items only ref_ids. nil: the plugin does not see it

	view catalogueView
	rows map[int32]bool // of Items in the catalogue, if there is a context
}

func (c *Check) isEmpty() bool {
	return len(c.Items)+len(c.Stores) == 0 && (c.Context == nil ||
		len(c.Context.Categories)+len(c.Context.OptionGroups)+len(c.Context.Options) == 0)
}

// byItem returns the findings for each checked item. Those of its categories, option groups and options name these.
func (c *Check) byItem(found Found) map[string][]Finding {
	list := make(map[string][]Finding, len(found))
	for object, findings := range found {
		if object.Entity == FoundItem {
			addFindings(list, object.RefID, findings)
			continue
		}
		named := slices.Clone(findings)
		for i := range named {
			named[i].Entity, named[i].RefID = object.Entity, object.RefID
		}
		for _, row := range c.view.itemsOf(object) {
			if ref := c.view.menu.Items[row].RefID; c.rows[row] {
				addFindings(list, ref, named)
			}
		}
	}
	return list
}

// catalogueView finds what the objects of a catalogue belong to. Without a menu it is empty.
type catalogueView struct {
	*visibility
	byRef    PerKind[map[string]int32]
	children map[int64][]int32 // rows of categories by their parent
}

func newCatalogueView(m *Menu) catalogueView {
	v := catalogueView{visibility: &visibility{menu: m}, children: map[int64][]int32{}}
	v.buildIndexes()
	for row := range m.Items {
		v.storeItems[row] = &m.Items[row].ItemValues
	}
	for row := range m.Options {
		v.storeOptions[row] = &m.Options[row].OptionValues
	}
	v.byRef = PerKind[map[string]int32]{rowsByRef(m.Categories), rowsByRef(m.Items), rowsByRef(m.OptionGroups),
		rowsByRef(m.Options)}
	for row := range m.Categories {
		if parent := m.Categories[row].ParentID; parent != 0 {
			v.children[parent] = append(v.children[parent], int32(row))
		}
	}
	return v
}

func rowsByRef[R any, P record[R]](records []R) map[string]int32 {
	rows := make(map[string]int32, len(records))
	for i := range records {
		rows[P(&records[i]).ref().RefID] = int32(i)
	}
	return rows
}

// named returns the rows of the objects of one kind with these ref_ids.
func (v catalogueView) named(kind Kind, refs []string) (rows []int32) {
	for _, ref := range refs {
		if row, known := v.byRef[kind][ref]; known {
			rows = append(rows, row)
		}
	}
	return rows
}

// itemsOf returns the items that belong to an object. For a category these are also the items of its subcategories, for
// an option group those of the groups around it.
func (v catalogueView) itemsOf(object FoundObject) []int32 {
	if v.visibility == nil {
		return nil
	}
	kind := foundKinds[object.Entity]
	rows := v.named(kind, []string{object.RefID})
	switch kind {
	case Categories:
		return v.itemsOfCategories(rows)
	case OptionGroups:
		return v.itemsOfGroups(rows)
	default:
		return v.itemsOfOptions(rows)
	}
}

func (v catalogueView) itemsOfCategories(categories []int32) (items []int32) {
	for _, row := range categories {
		items = append(items, v.from[ItemCategory].of(int(row))...)
		if int(row) < len(v.menu.Categories) {
			for _, child := range v.children[v.menu.Categories[row].ID] {
				items = append(items, v.from[ItemCategory].of(int(child))...)
			}
		}
	}
	return v.known(items)
}

func (v catalogueView) itemsOfOptions(options []int32) []int32 {
	var groups []int32
	for _, row := range options {
		groups = append(groups, v.to[OptionInGroup].of(int(row))...)
	}
	return v.itemsOfGroups(groups)
}

// itemsOfGroups returns the items of option groups, also of those in which the groups are nested.
func (v catalogueView) itemsOfGroups(groups []int32) (items []int32) {
	seen := map[int32]bool{}
	groups = slices.Clone(groups)
	for len(groups) > 0 {
		row := groups[len(groups)-1]
		groups = groups[:len(groups)-1]
		if seen[row] {
			continue
		}
		seen[row] = true
		items = append(items, v.to[GroupItem].of(int(row))...)
		for _, option := range v.from[NestedGroup].of(int(row)) {
			groups = append(groups, v.to[OptionInGroup].of(int(option))...)
		}
	}
	return v.known(items)
}

// known returns the distinct rows of existing items, in ascending order.
func (v catalogueView) known(items []int32) []int32 {
	slices.Sort(items)
	items = slices.Compact(items)
	return slices.DeleteFunc(items, func(row int32) bool { return int(row) >= len(v.menu.Items) })
}

// affected returns the rows of the items whose context a request changes.
func (v catalogueView) affected(request *Request, plan *Plan) []int32 {
	categories := v.named(Categories, refIDs[CategoryObject](request.Categories))
	groups := v.named(OptionGroups, refIDs[OptionGroupObject](request.OptionGroups))
	options := v.named(Options, refIDs[OptionObject](request.Options))
	items := v.itemsOfCategories(categories)
	for relation, change := range plan.Links {
		for _, link := range slices.Concat(change.Put, change.Remove) {
			switch Relation(relation) {
			case GroupItem, TaxItem, ChargeItem:
				items = append(items, v.rows[Items].of(link.To))
			case OptionInGroup:
				groups = append(groups, v.rows[OptionGroups].of(link.To))
			case NestedGroup:
				options = append(options, v.rows[Options].of(link.From))
			}
		}
	}
	items = append(items, v.itemsOfGroups(groups)...)
	for _, id := range ratesOf(plan.Taxes, plan.Deactivated[Taxes]) {
		row := int(v.rows[Taxes].of(id))
		items = append(items, v.itemsOfRate(TaxItem, row, row < len(v.menu.Taxes) && v.menu.Taxes[row].AllItems)...)
	}
	for _, id := range ratesOf(plan.Charges, plan.Deactivated[Charges]) {
		row := int(v.rows[Charges].of(id))
		items = append(items,
			v.itemsOfRate(ChargeItem, row, row < len(v.menu.Charges) && v.menu.Charges[row].AllItems)...)
	}
	return v.known(append(items, v.itemsOfOptions(options)...))
}

// ratesOf returns the ids of the taxes or charges that a plan changes.
func ratesOf[R any, P record[R]](changes []Change[R], deactivated []Ref) []int64 {
	ids := make([]int64, 0, len(changes)+len(deactivated))
	for i := range changes {
		ids = append(ids, P(&changes[i].Record).ref().ID)
	}
	for _, ref := range deactivated {
		ids = append(ids, ref.ID)
	}
	return ids
}

// itemsOfRate returns the items of a tax or charge.
func (v catalogueView) itemsOfRate(relation Relation, row int, all bool) []int32 {
	if !all {
		return v.to[relation].of(row)
	}
	items := make([]int32, len(v.menu.Items))
	for row := range items {
		items[row] = int32(row)
	}
	return items
}

// context returns what items belong to, and what a request names besides, as a platform sees it. It has active objects
// only, with the values of the catalogue.
func (v catalogueView) context(items []int32, request *Request, platform string) *EffectiveMenu {
	m := v.menu
	v.platform = core.Platform{Name: platform}
	active := v.activeCategories()
	v.visibility.items = make([]bool, len(m.Items)+1)
	v.categories = make([]bool, len(active))
	groups := v.named(OptionGroups, refIDs[OptionGroupObject](request.OptionGroups))
	for _, row := range v.named(Options, refIDs[OptionObject](request.Options)) {
		groups = append(groups, v.to[OptionInGroup].of(int(row))...)
	}
	for _, row := range v.named(Categories, refIDs[CategoryObject](request.Categories)) {
		v.showCategory(row, active)
	}
	for _, row := range items {
		v.visibility.items[row] = true
		groups = append(groups, v.from[GroupItem].of(int(row))...)
		for _, category := range v.to[ItemCategory].of(int(row)) {
			v.showCategory(category, active)
		}
	}
	v.showGroups(groups)
	e := &EffectiveMenu{Categories: v.visibleCategories(), OptionGroups: v.visibleGroups(),
		Options: v.visibleOptions(), Taxes: v.visibleTaxes(), Charges: v.visibleCharges()}
	for _, row := range items {
		e.Items = append(e.Items, EffectiveItem{RefID: m.Items[row].RefID,
			CategoryRefIDs:    visibleRefIDs(v.visibility, m.Categories, v.to[ItemCategory].of(int(row)), v.categories),
			OptionGroupRefIDs: v.groupRefIDs(v.from[GroupItem].of(int(row)))})
	}
	return e
}

// showCategory makes an active category visible, with its parent.
func (v catalogueView) showCategory(row int32, active []bool) {
	if !active[row] {
		return
	}
	v.categories[row] = true
	if parent := v.menu.Categories[row].ParentID; parent != 0 {
		v.categories[v.rows[Categories].of(parent)] = true
	}
}

// showGroups makes active option groups visible, with their active options and what is nested there.
func (v catalogueView) showGroups(start []int32) {
	groups, options := make([]bool, len(v.menu.OptionGroups)+1), make([]bool, len(v.menu.Options)+1)
	for row := range v.menu.OptionGroups {
		groups[row] = v.menu.OptionGroups[row].Active
	}
	for row := range v.menu.Options {
		options[row] = v.menu.Options[row].Active
	}
	v.groups = v.reachableGroups(groups, start, options)
	v.options = make([]bool, len(options))
	for row, ok := range options {
		v.options[row] = ok && anyOf(v.to[OptionInGroup].of(row), v.groups)
	}
}

// applyCatalogue applies the changes of a plan to the catalogue that the menu is.
func (m *Menu) applyCatalogue(plan *Plan) {
	applyRecords(&m.Categories, plan.Categories, plan.Deactivated[Categories])
	applyRecords(&m.Items, plan.Items, plan.Deactivated[Items])
	applyRecords(&m.OptionGroups, plan.OptionGroups, plan.Deactivated[OptionGroups])
	applyRecords(&m.Options, plan.Options, plan.Deactivated[Options])
	applyRecords(&m.Taxes, plan.Taxes, plan.Deactivated[Taxes])
	applyRecords(&m.Charges, plan.Charges, plan.Deactivated[Charges])
	for relation, change := range plan.Links {
		if len(change.Put)+len(change.Remove) == 0 {
			continue
		}
		replaced := make(map[linkEnds]bool, len(change.Put)+len(change.Remove))
		for _, link := range slices.Concat(change.Put, change.Remove) {
			replaced[linkEnds{link.From, link.To}] = true
		}
		m.Links[relation] = append(slices.DeleteFunc(m.Links[relation],
			func(l Link) bool { return replaced[linkEnds{l.From, l.To}] }), change.Put...)
		slices.SortFunc(m.Links[relation], Link.Compare)
	}
}

func applyRecords[R any, P record[R]](records *[]R, changes []Change[R], deactivated []Ref) {
	if len(changes)+len(deactivated) == 0 {
		return
	}
	at := make(map[int64]int, len(*records))
	for i := range *records {
		at[P(&(*records)[i]).ref().ID] = i
	}
	for _, ref := range deactivated {
		if i, known := at[ref.ID]; known {
			P(&(*records)[i]).ref().Active = false
		}
	}
	for _, change := range changes {
		if i, known := at[P(&change.Record).ref().ID]; known {
			(*records)[i] = change.Record
		} else {
			*records = append(*records, change.Record)
		}
	}
}
