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
	Title               *string             `json:"title" check:"1..1000"`
	Description         *string             `json:"description" check:"0..20000"`
	MinSelectable       *int64              `json:"min_selectable" check:"0.."`
	MaxSelectable       *int64              `json:"max_selectable" check:"-1.."`
	MultiOptionsEnabled *bool               `json:"multi_options_enabled"`
	SortOrder           *int64              `json:"sort_order" check:"0.."`
	Active              *bool               `json:"active"`
	RefTitle            *string             `json:"ref_title" check:"0..1000"`
	DisplayInline       *bool               `json:"display_inline"`
	ItemRefIDs          []string            `json:"item_ref_ids"`
	ClearItemRefIDs     bool                `json:"clear_item_ref_ids"`
	ClearItems          bool                `json:"clear_items"`
	ClearOptions        bool                `json:"clear_options"`
	Translations        []TitledTranslation `json:"translations"`

	first *OptionGroupObject // that it was merged with
}

func (o *OptionGroupObject) refID() *string   { return o.RefID }
func (o *OptionGroupObject) identity() string { return valueOf(o.RefID) }

var groupObjectFields = fieldsOf[OptionGroupObject]()

func (o *OptionGroupObject) check(c *checker) {
	c.refIDField(o.RefID)
	if o.MinSelectable != nil && *o.MinSelectable == AnyNumber {
		o.MinSelectable = new(int64(0))
		c.warn("min_selectable", "is -1, and is read as 0")
	}
	groupObjectFields.check(c, o)
	c.references("item_ref_ids", &o.ItemRefIDs)
	translations(c, &o.Translations, "title")
	if o.MinSelectable == nil || o.MaxSelectable == nil {
		return // against stored values: see OptionGroup.wrong
	}
	sent := OptionGroupDetails{MinSelectable: *o.MinSelectable, MaxSelectable: *o.MaxSelectable,
		MultiOptionsEnabled: isTrue(o.MultiOptionsEnabled)}
	if field, rule := sent.wrong(); rule != "" {
		c.fail(field, "range", rule)
	}
}

// onlyItems reports whether the object contains only its ref_id and items.
func (o *OptionGroupObject) onlyItems() bool {
	rest := *o
	rest.RefID, rest.ItemRefIDs, rest.first = nil, nil, nil
	return reflect.ValueOf(rest).IsZero()
}

// OptionGroup is the master record of an option group, which has no store values.
type OptionGroup struct {
	Ref
	OptionGroupDetails
	RefTitle *string `json:"ref_title,omitzero"`
}

// OptionGroupDetails are the fields of the master record that customers see unchanged.
type OptionGroupDetails struct {
	Title               string         `json:"title"`
	Description         *string        `json:"description,omitzero"`
	MinSelectable       int64          `json:"min_selectable"`
	MaxSelectable       int64          `json:"max_selectable"`
	MultiOptionsEnabled bool           `json:"multi_options_enabled"`
	SortOrder           int64          `json:"sort_order"`
	DisplayInline       bool           `json:"display_inline"`
	Translations        jsontext.Value `json:"translations,omitzero"`
}

func newOptionGroup(refID string) OptionGroup {
	r := OptionGroup{Ref: Ref{RefID: refID, Active: true}}
	r.MaxSelectable = AnyNumber
	return r
}

var groupAssignments = assignmentsOf[OptionGroup, OptionGroupObject](fieldsOf[Ref]().names()...)

func (r *OptionGroup) apply(o *OptionGroupObject, flushed bool) (changed bool) {
	changed = groupAssignments.assign(r, o)
	activate(&changed, &r.Active, o.Active, flushed)
	return changed
}

// wrong returns the field that contradicts the others, and the rule.
func (r *OptionGroupDetails) wrong() (field, rule string) {
	switch {
	case r.MaxSelectable != AnyNumber && r.MinSelectable > r.MaxSelectable:
		return "min_selectable", "must not be above max_selectable"
	case r.MultiOptionsEnabled && r.MinSelectable == 1 && r.MaxSelectable == 1:
		return "multi_options_enabled", "is not supported where min_selectable and max_selectable are both 1"
	}
	return "", ""
}
