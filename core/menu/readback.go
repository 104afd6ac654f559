package menu

import (
	"slices"

	"github.com/servery-hub/servery/core"
)

// The types below are the entities as the API returns them. They have the form in which clients send them, with id,
// active and all associations.
type (
	// APICategory is a category in the API.
	APICategory struct {
		Category
		ParentRefID string `json:"parent_ref_id,omitzero"`
	}
	// APIItem is an item in the API; for a store, with the store's values.
	APIItem struct {
		Item
		CategoryRefIDs    []string `json:"category_ref_ids"`
		OptionGroupRefIDs []string `json:"option_group_ref_ids"`
	}
	// APIOptionGroup is an option group in the API.
	APIOptionGroup struct {
		OptionGroup
		ItemRefIDs   []string `json:"item_ref_ids"`
		OptionRefIDs []string `json:"option_ref_ids"`
	}
	// APIOption is an option in the API; for a store, with the store's values.
	APIOption struct {
		Option
		OptGrpRefIDs  []string `json:"opt_grp_ref_ids"`
		NestedOptGrps []string `json:"nested_opt_grps"`
	}
	// APITax is a tax in the API.
	APITax struct {
		Tax
		ItemRefIDs []string `json:"item_ref_ids"`
	}
	// APICharge is a charge in the API.
	APICharge struct {
		Charge
		ItemRefIDs []string `json:"item_ref_ids"`
	}
)

// APIMenu is the master catalogue or a store's menu in the API. Kinds that were not requested, or were on an earlier
// page, are absent.
type APIMenu struct {
	LocationRefID string           `json:"location_ref_id"`
	Categories    []APICategory    `json:"categories,omitzero"`
	Items         []APIItem        `json:"items,omitzero"`
	OptionGroups  []APIOptionGroup `json:"option_groups,omitzero"`
	Options       []APIOption      `json:"options,omitzero"`
	Taxes         []APITax         `json:"taxes,omitzero"`
	Charges       []APICharge      `json:"charges,omitzero"`
	Next          string           `json:"next,omitzero"` // for View.After; "" at the end
}

// WithEventNames returns the menu with the platform names that events use.
func (r APIMenu) WithEventNames(names core.PlatformNames) APIMenu {
	if !names.HasEventAliases() {
		return r
	}
	for i := range r.Items {
		r.Items[i].RenamePlatforms(names.EventName)
	}
	for i := range r.Options {
		r.Options[i].RenamePlatforms(names.EventName)
	}
	for i := range r.Charges {
		r.Charges[i].RenamePlatforms(names.EventName)
	}
	return r
}

// ReadBack renders the stored menu. For the master catalogue it returns everything in the menu. For a store it returns
// the associated entities: its items, options and categories, and the option groups of these. It adds the taxes and
// charges on its items or on every order. Associations are complete, except for entities that the menu does not
// contain.
func ReadBack(scope Scope, menu Menu, view View) APIMenu {
	r := pageRenderer{menuIndex: newMenuIndex(&menu), page: view.page(),
		result: APIMenu{LocationRefID: scope.LocationRefID}}
	if !scope.Master() {
		r.atStore = newStoreEntities(r.menuIndex)
	}
	r.result.Categories = readKind(&r, Categories, menu.Categories, (*Category).name, r.category)
	r.result.Items = readKind(&r, Items, menu.Items, (*Item).name, r.item)
	r.result.OptionGroups = readKind(&r, OptionGroups, menu.OptionGroups, (*OptionGroup).name, r.group)
	r.result.Options = readKind(&r, Options, menu.Options, (*Option).name, r.option)
	r.result.Taxes = readKind(&r, Taxes, menu.Taxes, (*Tax).Key, r.tax)
	r.result.Charges = readKind(&r, Charges, menu.Charges, (*Charge).Key, r.charge)
	r.result.Next = r.page.next
	return r.result
}

func (r *Ref) name() string { return r.RefID }

// pageRenderer renders one page of a menu.
type pageRenderer struct {
	*menuIndex
	page    *page
	atStore *storeEntities // nil for the master catalogue
	result  APIMenu
}

// readKind renders the records of a kind that are on the page, sorted by name.
func readKind[R, Out any, P record[R]](r *pageRenderer, kind Kind, records []R, name func(P) string,
	render func(P) Out) []Out {
	if !r.page.view.Includes(kind) {
		return nil
	}
	chosen := make([]P, 0, len(records))
	for i := range records {
		p := P(&records[i])
		if (r.atStore == nil || r.atStore.kinds[kind][p.ref().ID]) && r.page.after(kind, name(p)) {
			chosen = append(chosen, p)
		}
	}
	slices.SortFunc(chosen, func(a, b P) int { return byRefID(name(a), name(b)) })
	out := make([]Out, 0, len(chosen))
	for _, p := range chosen {
		if !r.page.add(kind, name(p)) {
			break
		}
		out = append(out, render(p))
	}
	return out
}

func (r *pageRenderer) category(c *Category) APICategory {
	return APICategory{Category: *c, ParentRefID: r.names[Categories][c.ParentID]}
}

func (r *pageRenderer) item(i *Item) APIItem {
	out := APIItem{
		Item:              *i,
		CategoryRefIDs:    r.refIDs(Categories, r.to[ItemCategory][i.ID]),
		OptionGroupRefIDs: r.sortedRefIDs(OptionGroups, r.from[GroupItem][i.ID]),
	}
	if r.atStore != nil {
		out.SoldAtStore = new(true)
		out.ItemValues = *r.atStore.items[i.ID]
		prices := mergePlatformPrices(decodeDocument[[]PlatformPrice](i.PlatformPricing),
			decodeDocument[[]PlatformPrice](out.PlatformPricing))
		out.PlatformPricing = encodeDocument(prices, len(prices) > 0)
	}
	return out
}

func (r *pageRenderer) group(g *OptionGroup) APIOptionGroup {
	return APIOptionGroup{
		OptionGroup:  *g,
		ItemRefIDs:   r.refIDs(Items, r.to[GroupItem][g.ID]),
		OptionRefIDs: r.sortedRefIDs(Options, r.from[OptionInGroup][g.ID]),
	}
}

func (r *pageRenderer) option(o *Option) APIOption {
	out := APIOption{
		Option:        *o,
		OptGrpRefIDs:  r.refIDs(OptionGroups, r.to[OptionInGroup][o.ID]),
		NestedOptGrps: r.refIDs(OptionGroups, r.to[NestedGroup][o.ID]),
	}
	if r.atStore != nil {
		out.SoldAtStore = new(true)
		out.OptionValues = *r.atStore.options[o.ID]
	}
	return out
}

func (r *pageRenderer) tax(t *Tax) APITax {
	return APITax{Tax: *t, ItemRefIDs: r.itemRefIDs(t.AllItems, TaxItem, t.ID)}
}

func (r *pageRenderer) charge(c *Charge) APICharge {
	return APICharge{Charge: *c, ItemRefIDs: r.itemRefIDs(c.AllItems, ChargeItem, c.ID)}
}

func (r *pageRenderer) itemRefIDs(all bool, relation Relation, id int64) []string {
	if all {
		return []string{AllItems}
	}
	return r.refIDs(Items, r.to[relation][id])
}
