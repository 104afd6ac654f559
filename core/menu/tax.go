package menu

import (
	"slices"
	"strings"

	"github.com/servery-hub/servery/core"
)

// TaxObject is a tax as it is submitted. A nil field was not sent.
type TaxObject struct {
	Code        *string       `json:"code"`
	Title       *string       `json:"title"`
	Description *string       `json:"description"`
	Active      *bool         `json:"active"`
	Structure   *TaxStructure `json:"structure"`
	ItemRefIDs  []string      `json:"item_ref_ids"`
	ClearItems  bool          `json:"clear_items"`

	first *TaxObject // that it was merged with
}

// TaxStructure holds the rate of a tax, in percent.
type TaxStructure struct {
	Value *core.Amount `json:"value"`
}

func (o *TaxObject) refID() *string { return nil }

// identity returns the code and the rate: two rates of one code are two taxes.
func (o *TaxObject) identity() string {
	if o.Code == nil || o.Structure == nil || o.Structure.Value == nil {
		return ""
	}
	return *o.Code + " " + o.Structure.Value.String()
}

// taxRule holds the names of a country's taxes.
type taxRule struct {
	codes    []string
	exact    string   // the only valid title, or
	contains []string // a title must contain one of these
	message  string
}

var taxRules = map[string]taxRule{
	"US": {codes: []string{"ST_P"}, exact: "Sales Tax", message: "must be Sales Tax"},
	"CA": {codes: []string{"GST_P"}, exact: "GST", message: "must be GST"},
	"IN": {codes: []string{"CGST_P", "SGST_P", "IGST_P"},
		contains: []string{"sgst", "cgst", "gst", "municipality", "kerala"},
		message:  "must contain SGST, CGST, GST, Municipality or Kerala"},
}

var otherTaxRule = taxRule{codes: []string{"VAT_P"}, contains: []string{"vat"}, message: "must contain VAT"}

func (t taxRule) accepts(title string) bool {
	if t.exact != "" {
		return strings.EqualFold(title, t.exact)
	}
	lower := strings.ToLower(title)
	return slices.ContainsFunc(t.contains, func(word string) bool { return strings.Contains(lower, word) })
}

func (o *TaxObject) check(c *checker) {
	rule, known := taxRules[strings.ToUpper(c.rules.Country)]
	if !known {
		rule = otherTaxRule
	}
	switch {
	case o.Code == nil:
		c.fail("code", "required", "is required")
	case !slices.Contains(rule.codes, *o.Code):
		c.fail("code", "value", core.OneOf(rule.codes, *o.Code))
	}
	c.text("title", o.Title, 1, maxTitle)
	if o.Title != nil && strings.TrimSpace(*o.Title) != "" && !rule.accepts(*o.Title) {
		c.fail("title", "value", rule.message+", not "+core.Quote(*o.Title))
	}
	c.text("description", o.Description, 0, maxDescription)
	c.structureValue(o.Structure != nil, func() *core.Amount { return o.Structure.Value })
	c.itemRefs(&o.ItemRefIDs)
}

// structureValue checks the required value in the structure of a tax or charge.
func (c *checker) structureValue(sent bool, value func() *core.Amount) {
	switch {
	case !sent:
		c.fail("structure", "required", "is required")
	case value() == nil:
		c.fail("structure.value", "required", "is required")
	default:
		c.notNegative("structure.value", value())
	}
}

// itemRefs checks the items of a tax or charge.
func (c *checker) itemRefs(list *[]string) {
	sent := *list != nil
	c.references("item_ref_ids", list)
	if sent && *list == nil {
		*list = []string{} // a client that means none gets the warning about what still applies
	}
	if len(*list) > 1 && slices.Contains(*list, AllItems) {
		c.fail("item_ref_ids", "value", `must not have other elements beside "all"`)
	}
}

// Tax is the master record of a tax. It applies to the items linked to it, or to all items.
type Tax struct {
	Ref
	Code        string       `json:"code"`
	Title       string       `json:"title"`
	Description *string      `json:"description,omitzero"`
	Structure   TaxStructure `json:"structure"`
	AllItems    bool         `json:"-"`
}

// Key identifies the tax within its business: code and rate.
func (r *Tax) Key() string { return r.Code + " " + r.Structure.Value.String() }

func (r *Tax) apply(o *TaxObject, flushed bool) (changed bool) {
	set(&changed, &r.Title, o.Title)
	setOptional(&changed, &r.Description, o.Description)
	activate(&changed, &r.Active, o.Active, flushed)
	return changed
}
