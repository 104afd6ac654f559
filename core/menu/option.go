package menu

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// OptionObject is an option as it is submitted. A nil field was not sent. A list that was sent empty is not nil.
type OptionObject struct {
	RefID              *string             `json:"ref_id"`
	Title              *string             `json:"title" check:"1..1000"`
	Price              *core.Amount        `json:"price" check:"price"`
	Description        *string             `json:"description" check:"0..20000"`
	Available          *bool               `json:"available"`
	SoldAtStore        *bool               `json:"sold_at_store"`
	SortOrder          *int64              `json:"sort_order" check:"0.."`
	Weight             *int64              `json:"weight" check:"0.."` // grams
	Images             []Image             `json:"images"`
	ImgURL             *string             `json:"img_url" check:"link"`
	FoodType           *FoodType           `json:"food_type"`
	Recommended        *bool               `json:"recommended"`
	RefTitle           *string             `json:"ref_title" check:"0..1000"`
	Translations       []TitledTranslation `json:"translations"`
	OptGrpRefIDs       []string            `json:"opt_grp_ref_ids"`
	NestedOptGrps      []string            `json:"nested_opt_grps"`
	ClearOptGrpRefIDs  bool                `json:"clear_opt_grp_ref_ids"`
	ClearOptGrps       bool                `json:"clear_opt_grps"`
	ClearNestedOptGrps bool                `json:"clear_nested_opt_grps"`
	KeyValueGroups     []KeyValueGroup     `json:"key_value_groups"`
}

func (o *OptionObject) refID() *string   { return o.RefID }
func (o *OptionObject) identity() string { return valueOf(o.RefID) }

var optionObjectFields = fieldsOf[OptionObject]()

func (o *OptionObject) check(c *checker) {
	c.refIDField(o.RefID)
	c.required("price", o.Price != nil)
	optionObjectFields.check(c, o)
	c.images(o.Images)
	translations(c, &o.Translations, "title")
	c.references("opt_grp_ref_ids", &o.OptGrpRefIDs)
	c.references("nested_opt_grps", &o.NestedOptGrps)
	c.keyValueGroups(o.KeyValueGroups, OnOption)
}

// OptionValues are the values that can differ between stores. The master holds the defaults for new stores.
type OptionValues struct {
	Price     core.Amount `json:"price"`
	Available bool        `json:"available"`
}

var optionValuesAssignments = assignmentsOf[OptionValues, OptionObject]()

// apply assigns the values that were sent, to a master or a store.
func (v *OptionValues) apply(o *OptionObject) (changed bool) {
	return optionValuesAssignments.assign(v, o)
}

// Option is the master record of an option.
type Option struct {
	Ref
	OptionValues
	OptionDetails
	SoldAtStore *bool          `json:"sold_at_store,omitzero"` // as last sent to the master, where it has no effect
	ImgURL      *string        `json:"img_url,omitzero"`
	RefTitle    *string        `json:"ref_title,omitzero"`
	Images      jsontext.Value `json:"images,omitzero"`
}

// OptionDetails are the fields of the master record that customers see unchanged.
type OptionDetails struct {
	Title          string         `json:"title"`
	Description    *string        `json:"description,omitzero"`
	Weight         *int64         `json:"weight,omitzero"`
	FoodType       FoodType       `json:"food_type,omitzero"`
	SortOrder      int64          `json:"sort_order"`
	Recommended    bool           `json:"recommended"`
	Translations   jsontext.Value `json:"translations,omitzero"`
	KeyValueGroups jsontext.Value `json:"key_value_groups,omitzero"`
}

func newOption(refID string) Option {
	return Option{Ref: Ref{RefID: refID, Active: true}, OptionValues: OptionValues{Available: true}}
}

var optionAssignments = assignmentsOf[Option, OptionObject](
	fieldsOf[OptionValues]().names(fieldsOf[Ref]().names("sold_at_store", "images")...)...)

// apply assigns the fields that all stores share. The images have the platforms' own names.
func (r *Option) apply(o *OptionObject, images []Image) (changed bool) {
	changed = optionAssignments.assign(r, o)
	setDocument(&changed, &r.Images, encodeDocument(images, images != nil))
	return changed
}
