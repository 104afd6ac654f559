package menu

import "github.com/servery-hub/servery/core"

// EffectiveMenu is the part of a store's menu that customers of a platform see. Lists are ordered by sort_order, then
// ref_id.
type EffectiveMenu struct {
	StoreRefID string `json:"store_ref_id"`
	Platform   string `json:"platform"`
	// Whether the store takes orders there; nil: not stated.
	OrderingEnabled *bool                  `json:"ordering_enabled,omitzero"`
	Categories      []EffectiveCategory    `json:"categories"`
	Items           []EffectiveItem        `json:"items"`
	OptionGroups    []EffectiveOptionGroup `json:"option_groups"`
	Options         []EffectiveOption      `json:"options"`
	Taxes           []APITax               `json:"taxes"`
	Charges         []APICharge            `json:"charges"`

	OmittedItems []OmittedItem `json:"-"`
}

// OmittedItem is an item that the store sells but that cannot be ordered there. One of its option groups requires more
// options than are available.
type OmittedItem struct{ RefID, Message string }

// EffectiveCategory is a category that contains something visible, directly or in a sub-category.
type EffectiveCategory struct {
	ID    int64  `json:"id"`
	RefID string `json:"ref_id"`
	CategoryDetails
	ParentRefID string `json:"parent_ref_id,omitzero"`
	// When it is available, by its timings and those of its parent; absent if it always is.
	Timings []core.DayHours `json:"timings,omitempty"`
	// Whether it is available now; absent if it always is.
	AvailableNow *bool `json:"available_now,omitzero"`
}

// EffectiveItem is an item that can be ordered, at the price for the platform.
type EffectiveItem struct {
	ID    int64  `json:"id"`
	RefID string `json:"ref_id"`
	ItemDetails
	ItemStoreDetails
	Price             core.Amount  `json:"price"`
	MarkupPrice       *core.Amount `json:"markup_price,omitempty"` // only above the price
	ImgURL            string       `json:"img_url,omitzero"`
	Tags              []string     `json:"tags,omitzero"`
	CategoryRefIDs    []string     `json:"category_ref_ids"`
	OptionGroupRefIDs []string     `json:"option_group_ref_ids"`
}

// EffectiveOptionGroup is an option group with an option that can be ordered.
type EffectiveOptionGroup struct {
	ID    int64  `json:"id"`
	RefID string `json:"ref_id"`
	OptionGroupDetails
}

// EffectiveOption is an option that can be ordered.
type EffectiveOption struct {
	ID    int64  `json:"id"`
	RefID string `json:"ref_id"`
	OptionDetails
	Price         core.Amount `json:"price"`
	ImgURL        string      `json:"img_url,omitzero"`
	OptGrpRefIDs  []string    `json:"opt_grp_ref_ids"`
	NestedOptGrps []string    `json:"nested_opt_grps,omitzero"`
}

// Effective computes the part of a store's menu that customers of a platform see. The menu must contain the store's
// references and their masters. It must also contain every category, option group, tax and charge linked to these, with
// the links. The map blocked holds the ids of the items that the platform's rules reject, and may be nil. The result
// does not depend on the order of the rows.
func Effective(storeRefID string, menu Menu, platform core.Platform, blocked map[int64]bool) EffectiveMenu {
	v := newVisibility(&menu, platform, blocked)
	return EffectiveMenu{
		StoreRefID: storeRefID, Platform: platform.Name,
		Categories: v.visibleCategories(), Items: v.visibleItems(),
		OptionGroups: v.visibleGroups(), Options: v.visibleOptions(),
		Taxes: v.visibleTaxes(), Charges: v.visibleCharges(), OmittedItems: v.omitted(),
	}
}

// Reasons returns the reason of each item of a complete menu of a store on a platform, by the ref_id.
func Reasons(menu Menu, platform core.Platform) map[string]Reason {
	v := newVisibility(&menu, platform, menu.Blocked[platform.Name])
	reasons := make(map[string]Reason, len(v.reasons))
	for row, why := range v.reasons {
		reasons[menu.Items[row].RefID] = why
	}
	return reasons
}
