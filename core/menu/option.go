package menu

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// OptionObject is an option as it is submitted. A nil field was not sent. A list that was sent empty is not nil.
type OptionObject struct {
	RefID              *string             `json:"ref_id"`
	Title              *string             `json:"title"`
	Price              *core.Amount        `json:"price"`
	Description        *string             `json:"description"`
	Available          *bool               `json:"available"`
	SoldAtStore        *bool               `json:"sold_at_store"`
	SortOrder          *int64              `json:"sort_order"`
	Weight             *int64              `json:"weight"` // grams
	Images             []Image             `json:"images"`
	ImgURL             *string             `json:"img_url"`
	FoodType           *FoodType           `json:"food_type"`
	Recommended        *bool               `json:"recommended"`
	RefTitle           *string             `json:"ref_title"`
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

func (o *OptionObject) check(c *checker) {
	c.refIDField(o.RefID)
	c.text("title", o.Title, 1, maxTitle)
	c.price(o.Price)
	c.text("description", o.Description, 0, maxDescription)
	c.wholeNumber("sort_order", o.SortOrder, 0)
	c.wholeNumber("weight", o.Weight, 0)
	c.images(o.Images)
	c.link("img_url", o.ImgURL, false)
	c.text("ref_title", o.RefTitle, 0, maxTitle)
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

func (v *OptionValues) apply(o *OptionObject) (changed bool) {
	setAmount(&changed, &v.Price, o.Price)
	set(&changed, &v.Available, o.Available)
	return changed
}

// Option is the master record of an option.
type Option struct {
	Ref
	OptionValues
	Title          string         `json:"title"`
	SoldAtStore    *bool          `json:"sold_at_store,omitzero"` // as last sent to the master, where it has no effect
	Description    *string        `json:"description,omitzero"`
	SortOrder      int64          `json:"sort_order"`
	Weight         *int64         `json:"weight,omitzero"`
	ImgURL         *string        `json:"img_url,omitzero"`
	FoodType       FoodType       `json:"food_type,omitzero"`
	Recommended    bool           `json:"recommended"`
	RefTitle       *string        `json:"ref_title,omitzero"`
	Images         jsontext.Value `json:"images,omitzero"`
	Translations   jsontext.Value `json:"translations,omitzero"`
	KeyValueGroups jsontext.Value `json:"key_value_groups,omitzero"`
}

func newOption(refID string) Option {
	return Option{Ref: Ref{RefID: refID, Active: true}, OptionValues: OptionValues{Available: true}}
}

// apply assigns the fields that all stores share.
func (r *Option) apply(o *OptionObject) (changed bool) {
	set(&changed, &r.Title, o.Title)
	setOptional(&changed, &r.Description, o.Description)
	set(&changed, &r.SortOrder, o.SortOrder)
	setOptional(&changed, &r.Weight, o.Weight)
	setOptional(&changed, &r.ImgURL, o.ImgURL)
	set(&changed, &r.FoodType, o.FoodType)
	set(&changed, &r.Recommended, o.Recommended)
	setOptional(&changed, &r.RefTitle, o.RefTitle)
	setDocument(&changed, &r.Images, encodeDocument(o.Images, o.Images != nil))
	setDocument(&changed, &r.Translations, encodeDocument(o.Translations, o.Translations != nil))
	setDocument(&changed, &r.KeyValueGroups, encodeDocument(o.KeyValueGroups, o.KeyValueGroups != nil))
	return changed
}
