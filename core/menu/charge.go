package menu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// The bases of charges. A fixed charge on the order has none.
const (
	OnQuantity = "item.quantity"
	OnPrice    = "item.price"
	OnSubtotal = "order.order_subtotal"
)

var (
	chargeCodes  = []string{"PC_F", "PC_P", "DC_F", "DC_P"}
	chargeTitles = []string{"Packaging Charge", "Delivery Charge"}
)

// ChargeObject is a charge as it is submitted. A nil field was not sent.
type ChargeObject struct {
	Code              *string          `json:"code"`
	Title             *string          `json:"title"`
	Description       *string          `json:"description"`
	Active            *bool            `json:"active"`
	Structure         *ChargeStructure `json:"structure"`
	FulfillmentModes  []string         `json:"fulfillment_modes"`
	ExcludedPlatforms []string         `json:"excluded_platforms"`
	ItemRefIDs        []string         `json:"item_ref_ids"`
	ClearItems        bool             `json:"clear_items"`
}

// ChargeStructure is the value of a charge, and what it applies to.
type ChargeStructure struct {
	Value        *core.Amount `json:"value"`
	ApplicableOn string       `json:"applicable_on,omitzero"`
}

func (o *ChargeObject) refID() *string { return nil }

// identity returns the code, the value and what the charge applies to.
func (o *ChargeObject) identity() string {
	if o.Code == nil || o.Structure == nil || o.Structure.Value == nil {
		return ""
	}
	return *o.Code + " " + o.Structure.Value.String() + " " + o.Structure.ApplicableOn
}

func (o *ChargeObject) check(c *checker) {
	switch {
	case o.Code == nil:
		c.fail("code", "required", "is required")
	case !slices.Contains(chargeCodes, *o.Code):
		c.fail("code", "value", core.OneOf(chargeCodes, *o.Code))
	case o.Structure != nil:
		o.checkApplicableOn(c)
	}
	c.text("title", o.Title, 1, maxTitle)
	same := func(title string) bool { return strings.EqualFold(title, *o.Title) }
	if o.Title != nil && strings.TrimSpace(*o.Title) != "" && !slices.ContainsFunc(chargeTitles, same) {
		c.fail("title", "value", core.OneOf(chargeTitles, *o.Title))
	}
	c.text("description", o.Description, 0, maxDescription)
	c.structureValue(o.Structure != nil, func() *core.Amount { return o.Structure.Value })
	if o.Code != nil && strings.HasSuffix(*o.Code, "_F") && o.Structure != nil {
		c.roundNoise(o.Structure.Value)
	}
	c.oneOf("fulfillment_modes", o.FulfillmentModes, fulfillmentModes)
	c.platforms("excluded_platforms", &o.ExcludedPlatforms)
	c.itemRefs(&o.ItemRefIDs)
}

// checkApplicableOn checks what the charge applies to and normalises it, because it is part of the identity. It is
// empty for a fixed charge on the order, and OnSubtotal for a percentage of the order.
func (o *ChargeObject) checkApplicableOn(c *checker) {
	fixed, on := strings.HasSuffix(*o.Code, "_F"), &o.Structure.ApplicableOn
	switch {
	case fixed && *on == OnSubtotal:
		*on = ""
	case !fixed && *on == "":
		*on = OnSubtotal
	case fixed && *on != "" && *on != OnQuantity:
		c.fail("structure.applicable_on", "value",
			"must be "+OnQuantity+" for a fixed charge on items, and absent for one on the order")
	case !fixed && *on != OnPrice && *on != OnSubtotal:
		c.fail("structure.applicable_on", "value", "must be "+OnPrice+" or "+OnSubtotal+" for a percentage")
	}
}

// Charge is the master record of a charge. It applies to the items linked to it, or to all items.
type Charge struct {
	Ref
	Code              string          `json:"code"`
	Title             string          `json:"title"`
	Description       *string         `json:"description,omitzero"`
	Structure         ChargeStructure `json:"structure"`
	FulfillmentModes  jsontext.Value  `json:"fulfillment_modes,omitzero"`
	ExcludedPlatforms jsontext.Value  `json:"excluded_platforms,omitzero"`
	// A charge on the order can lose its items, by clear_items or to another charge. It then applies to no order until
	// a list names items or all.
	Cleared  bool `json:"cleared,omitzero"`
	AllItems bool `json:"-"`
}

// Key identifies the charge within its business: code, value and what it applies to.
func (r *Charge) Key() string {
	return r.Code + " " + r.Structure.Value.String() + " " + r.Structure.ApplicableOn
}

// ExclusionKey is the same for charges that replace each other on an item. They have one code, apply to the same orders
// and differ in their value.
func (r *Charge) ExclusionKey() string {
	sorted := func(doc jsontext.Value) []string {
		return slices.Compact(slices.Sorted(slices.Values(decodeDocument[[]string](doc))))
	}
	modes := sorted(r.FulfillmentModes)
	if len(modes) == 0 && strings.HasPrefix(r.Code, "DC_") {
		modes = []string{"delivery"} // their default
	}
	return fmt.Sprintf("%s %s %q %q", r.Code, r.Structure.ApplicableOn, modes, sorted(r.ExcludedPlatforms))
}

func (r *Charge) apply(o *ChargeObject, flushed bool) (changed bool) {
	set(&changed, &r.Title, o.Title)
	setOptional(&changed, &r.Description, o.Description)
	setDocument(&changed, &r.FulfillmentModes, encodeDocument(o.FulfillmentModes, o.FulfillmentModes != nil))
	setDocument(&changed, &r.ExcludedPlatforms, encodeDocument(o.ExcludedPlatforms, o.ExcludedPlatforms != nil))
	activate(&changed, &r.Active, o.Active, flushed)
	return changed
}

// onOrder reports whether the charge applies to the order rather than to items.
func (r *Charge) onOrder() bool {
	return r.Structure.ApplicableOn != OnQuantity && r.Structure.ApplicableOn != OnPrice
}

// onEveryOrder reports whether the charge applies to every order, given the number of items that it names.
func (r *Charge) onEveryOrder(items int) bool { return r.onOrder() && items == 0 && !r.Cleared }

// updateCleared sets Cleared after a change of the items, given whether the charge had any and how many it has now. It
// returns warnings while the charge applies to no order.
func (r *Charge) updateCleared(changed *bool, had bool, items int) []Warning {
	cleared := r.onOrder() && !r.AllItems && items == 0 && (had || r.Cleared)
	set(changed, &r.Cleared, &cleared)
	if !cleared {
		return nil
	}
	return []Warning{{"item_ref_ids", "item_ref_ids of " + strings.TrimSpace(r.Key()) +
		" is empty: " +
		"the charge applies to no order until the list names items, or all for every order"}}
}
