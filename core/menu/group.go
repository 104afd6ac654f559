package menu

import (
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
)

// AnyNumber is the max_selectable of a group that sets no limit.
const AnyNumber = -1

// OptionGroupObject is an option group as it is submitted. A nil field was not sent.
type OptionGroupObject struct {
	RefID               *string             `json:"ref_id"`
	Title               *string             `json:"title"`
	Description         *string             `json:"description"`
	MinSelectable       *int64              `json:"min_selectable"`
	MaxSelectable       *int64              `json:"max_selectable"`
	MultiOptionsEnabled *bool               `json:"multi_options_enabled"`
	SortOrder           *int64              `json:"sort_order"`
	Active              *bool               `json:"active"`
	RefTitle            *string             `json:"ref_title"`
	DisplayInline       *bool               `json:"display_inline"`
	ItemRefIDs          []string            `json:"item_ref_ids"`
	ClearItemRefIDs     bool                `json:"clear_item_ref_ids"`
	ClearItems          bool                `json:"clear_items"`
	ClearOptions        bool                `json:"clear_options"`
	Translations        []TitledTranslation `json:"translations"`
}

func (o *OptionGroupObject) refID() *string   { return o.RefID }
func (o *OptionGroupObject) identity() string { return valueOf(o.RefID) }

func (o *OptionGroupObject) check(c *checker) {
	c.refIDField(o.RefID)
	c.text("title", o.Title, 1, maxTitle)
	c.text("description", o.Description, 0, maxDescription)
	if o.MinSelectable != nil && *o.MinSelectable == AnyNumber {
		o.MinSelectable = new(int64(0))
		c.warn("min_selectable", "is -1, and is read as 0")
	}
	c.wholeNumber("min_selectable", o.MinSelectable, 0)
	c.wholeNumber("max_selectable", o.MaxSelectable, AnyNumber)
	c.wholeNumber("sort_order", o.SortOrder, 0)
	c.text("ref_title", o.RefTitle, 0, maxTitle)
	c.references("item_ref_ids", &o.ItemRefIDs)
	translations(c, &o.Translations, "title")
	if o.MinSelectable == nil || o.MaxSelectable == nil {
		return // against stored values: see OptionGroup.wrong
	}
	merged := OptionGroup{MinSelectable: *o.MinSelectable, MaxSelectable: *o.MaxSelectable}
	set(new(bool), &merged.MultiOptionsEnabled, o.MultiOptionsEnabled)
	if field, rule := merged.wrong(); rule != "" {
		c.fail(field, "range", rule)
	}
}

// onlyItems reports whether the object contains only its ref_id and items.
func (o *OptionGroupObject) onlyItems() bool {
	rest := *o
	rest.RefID, rest.ItemRefIDs = nil, nil
	return reflect.ValueOf(rest).IsZero()
}

// OptionGroup is the master record of an option group, which has no store values.
type OptionGroup struct {
	Ref
	Title               string         `json:"title"`
	Description         *string        `json:"description,omitzero"`
	MinSelectable       int64          `json:"min_selectable"`
	MaxSelectable       int64          `json:"max_selectable"`
	MultiOptionsEnabled bool           `json:"multi_options_enabled"`
	SortOrder           int64          `json:"sort_order"`
	RefTitle            *string        `json:"ref_title,omitzero"`
	DisplayInline       bool           `json:"display_inline"`
	Translations        jsontext.Value `json:"translations,omitzero"`
}

func newOptionGroup(refID string) OptionGroup {
	return OptionGroup{Ref: Ref{RefID: refID, Active: true}, MaxSelectable: AnyNumber}
}

func (r *OptionGroup) apply(o *OptionGroupObject, flushed bool) (changed bool) {
	set(&changed, &r.Title, o.Title)
	setOptional(&changed, &r.Description, o.Description)
	changed = r.applyLimits(o) || changed
	set(&changed, &r.SortOrder, o.SortOrder)
	setOptional(&changed, &r.RefTitle, o.RefTitle)
	set(&changed, &r.DisplayInline, o.DisplayInline)
	setDocument(&changed, &r.Translations, encodeDocument(o.Translations, o.Translations != nil))
	activate(&changed, &r.Active, o.Active, flushed)
	return changed
}

func (r *OptionGroup) applyLimits(o *OptionGroupObject) (changed bool) {
	set(&changed, &r.MinSelectable, o.MinSelectable)
	set(&changed, &r.MaxSelectable, o.MaxSelectable)
	set(&changed, &r.MultiOptionsEnabled, o.MultiOptionsEnabled)
	return changed
}

// wrong returns the field that contradicts the others, and the rule.
func (r *OptionGroup) wrong() (field, rule string) {
	switch {
	case r.MaxSelectable != AnyNumber && r.MinSelectable > r.MaxSelectable:
		return "min_selectable", "must not be above max_selectable"
	case r.MultiOptionsEnabled && r.MinSelectable == 1 && r.MaxSelectable == 1:
		return "multi_options_enabled", "is not supported where min_selectable and max_selectable are both 1"
	}
	return "", ""
}
