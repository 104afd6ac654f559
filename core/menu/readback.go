package menu

import (
	"slices"

	"github.com/servery-hub/servery/core"
)

// The readings below are the entities as the API returns them: in the form in which they are sent, with id, active
// and all their associations (contract, Menu).
type (
	// CategoryReading is a category in the API.
	CategoryReading struct {
		Category
		ParentRefID string `json:"parent_ref_id,omitzero"`
	}
	// ItemReading is an item in the API; for a store, with the store's values.
	ItemReading struct {
		Item
		CategoryRefIDs    []string `json:"category_ref_ids"`
		OptionGroupRefIDs []string `json:"option_group_ref_ids"`
	}
	// OptionGroupReading is an option group in the API.
	OptionGroupReading struct {
		OptionGroup
		ItemRefIDs   []string `json:"item_ref_ids"`
		OptionRefIDs []string `json:"option_ref_ids"`
	}
	// OptionReading is an option in the API; for a store, with the store's values.
	OptionReading struct {
		Option
		OptGrpRefIDs  []string `json:"opt_grp_ref_ids"`
		NestedOptGrps []string `json:"nested_opt_grps"`
	}
	// TaxReading is a tax in the API.
	TaxReading struct {
		Tax
		ItemRefIDs []string `json:"item_ref_ids"`
	}
	// ChargeReading is a charge in the API.
	ChargeReading struct {
		Charge
		ItemRefIDs []string `json:"item_ref_ids"`
	}
)

// Reading is the master catalogue or a store's menu in the API. Kinds that were not requested, or were on an earlier
// page, are absent.
type Reading struct {
	LocationRefID string               `json:"location_ref_id"`
	Categories    []CategoryReading    `json:"categories,omitzero"`
	Items         []ItemReading        `json:"items,omitzero"`
	OptionGroups  []OptionGroupReading `json:"option_groups,omitzero"`
	Options       []OptionReading      `json:"options,omitzero"`
	Taxes         []TaxReading         `json:"taxes,omitzero"`
	Charges       []ChargeReading      `json:"charges,omitzero"`
	Next          string               `json:"next,omitzero"` // for View.After; "" at the end
}

// Named returns the reading with the names by which events name the platforms.
func (r Reading) Named(names core.PlatformNames) Reading {
	if !names.SendsAliases() {
		return r
	}
	for i := range r.Items {
		r.Items[i].Rename(names.Sent)
	}
	for i := range r.Options {
		r.Options[i].Rename(names.Sent)
	}
	for i := range r.Charges {
		r.Charges[i].Rename(names.Sent)
	}
	return r
}

// ReadBack renders the stored menu. For the master catalogue that is everything in the menu. For a store it is what
// is associated with it: its items, options and categories, the option groups of any of these, and the taxes and
// charges on its items or on every order. Associations are complete, except for entities that the menu does not
// contain.
func ReadBack(scope Scope, menu Menu, view View) Reading {
	r := reader{atlas: newAtlas(&menu), page: view.page(), reading: Reading{LocationRefID: scope.LocationRefID}}
	if !scope.Master() {
		r.atStore = newPresence(r.atlas)
	}
	r.reading.Categories = readKind(&r, Categories, menu.Categories, (*Category).name, r.category)
	r.reading.Items = readKind(&r, Items, menu.Items, (*Item).name, r.item)
	r.reading.OptionGroups = readKind(&r, OptionGroups, menu.OptionGroups, (*OptionGroup).name, r.group)
	r.reading.Options = readKind(&r, Options, menu.Options, (*Option).name, r.option)
	r.reading.Taxes = readKind(&r, Taxes, menu.Taxes, (*Tax).Key, r.tax)
	r.reading.Charges = readKind(&r, Charges, menu.Charges, (*Charge).Key, r.charge)
	r.reading.Next = r.page.next
	return r.reading
}

func (r *Ref) name() string { return r.RefID }

// reader renders one page of a reading.
type reader struct {
	*atlas
	page    *page
	atStore *presence // nil for the master catalogue
	reading Reading
}

// readKind renders the records of a kind that are on the page, sorted by name.
func readKind[R, Out any, P record[R]](r *reader, kind Kind, records []R, name func(P) string,
	render func(P) Out) []Out {
	if !r.page.view.Wants(kind) {
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
		if !r.page.take(kind, name(p)) {
			break
		}
		out = append(out, render(p))
	}
	return out
}

func (r *reader) category(c *Category) CategoryReading {
	return CategoryReading{Category: *c, ParentRefID: r.names[Categories][c.ParentID]}
}

func (r *reader) item(i *Item) ItemReading {
	reading := ItemReading{
		Item:              *i,
		CategoryRefIDs:    r.called(Categories, r.to[ItemCategory][i.ID]),
		OptionGroupRefIDs: r.sorted(OptionGroups, r.from[GroupItem][i.ID]),
	}
	if r.atStore != nil {
		reading.SoldAtStore = new(true)
		reading.ItemValues = *r.atStore.items[i.ID]
		prices := overlay(read[[]PlatformPrice](i.PlatformPricing), read[[]PlatformPrice](reading.PlatformPricing))
		reading.PlatformPricing = document(prices, len(prices) > 0)
	}
	return reading
}

func (r *reader) group(g *OptionGroup) OptionGroupReading {
	return OptionGroupReading{
		OptionGroup:  *g,
		ItemRefIDs:   r.called(Items, r.to[GroupItem][g.ID]),
		OptionRefIDs: r.sorted(Options, r.from[OptionInGroup][g.ID]),
	}
}

func (r *reader) option(o *Option) OptionReading {
	reading := OptionReading{
		Option:        *o,
		OptGrpRefIDs:  r.called(OptionGroups, r.to[OptionInGroup][o.ID]),
		NestedOptGrps: r.called(OptionGroups, r.to[GroupUnderneath][o.ID]),
	}
	if r.atStore != nil {
		reading.SoldAtStore = new(true)
		reading.OptionValues = *r.atStore.options[o.ID]
	}
	return reading
}

func (r *reader) tax(t *Tax) TaxReading {
	return TaxReading{Tax: *t, ItemRefIDs: r.fallsOn(t.AllItems, TaxItem, t.ID)}
}

func (r *reader) charge(c *Charge) ChargeReading {
	return ChargeReading{Charge: *c, ItemRefIDs: r.fallsOn(c.AllItems, ChargeItem, c.ID)}
}

func (r *reader) fallsOn(all bool, relation Relation, id int64) []string {
	if all {
		return []string{AllItems}
	}
	return r.called(Items, r.to[relation][id])
}
