package menu

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// AllItems is the only element of item_ref_ids in a tax or charge on every item. It is not a valid ref_id of an item.
const AllItems = "all"

// NeverOutOfStock is the current_stock of an item without stock control.
const NeverOutOfStock = -1

// ItemObject is an item as it is submitted. A nil field was not sent. A list that was sent empty is not nil.
type ItemObject struct {
	RefID             *string             `json:"ref_id"`
	Title             *string             `json:"title"`
	Price             *core.Amount        `json:"price"`
	ExternalPrice     *core.Amount        `json:"external_price"`
	MarkupPrice       *core.Amount        `json:"markup_price"`
	RefTitle          *string             `json:"ref_title"`
	Description       *string             `json:"description"`
	Weight            *core.Amount        `json:"weight"` // grams
	SoldAtStore       *bool               `json:"sold_at_store"`
	Available         *bool               `json:"available"`
	SortOrder         *int64              `json:"sort_order"`
	Serves            *int64              `json:"serves"`
	CurrentStock      *int64              `json:"current_stock"`
	CategoryRefIDs    []string            `json:"category_ref_ids"`
	FulfillmentModes  []string            `json:"fulfillment_modes"`
	FoodType          *FoodType           `json:"food_type"`
	Recommended       *bool               `json:"recommended"`
	Images            []Image             `json:"images"`
	ImgURL            *string             `json:"img_url"`
	Translations      []TitledTranslation `json:"translations"`
	Tags              map[string][]string `json:"tags"`
	IncludedPlatforms []string            `json:"included_platforms"`
	PlatformPricing   []PlatformPrice     `json:"platform_pricing"`
	KeyValueGroups    []KeyValueGroup     `json:"key_value_groups"`
	ClearOptionGroups bool                `json:"clear_option_groups"`
}

func (o *ItemObject) refID() *string   { return o.RefID }
func (o *ItemObject) identity() string { return valueOf(o.RefID) }

func (o *ItemObject) check(c *checker) {
	c.refIDField(o.RefID)
	if o.RefID != nil && *o.RefID == AllItems {
		c.fail("ref_id", "reserved", `must not be "all": in a tax or charge that stands for every item`)
	}
	c.text("title", o.Title, 1, maxTitle)
	c.price(o.Price)
	c.amount("external_price", o.ExternalPrice)
	c.amount("markup_price", o.MarkupPrice)
	c.text("ref_title", o.RefTitle, 0, maxTitle)
	c.text("description", o.Description, 0, maxDescription)
	c.notNegative("weight", o.Weight)
	c.wholeNumber("sort_order", o.SortOrder, 0)
	if o.Serves != nil && *o.Serves == 0 {
		o.Serves = nil
		c.warn("serves", "is 0, and is read as absent")
	}
	c.wholeNumber("serves", o.Serves, 1)
	c.wholeNumber("current_stock", o.CurrentStock, NeverOutOfStock)
	c.references("category_ref_ids", &o.CategoryRefIDs)
	c.oneOf("fulfillment_modes", o.FulfillmentModes, fulfillmentModes)
	c.images(o.Images)
	c.link("img_url", o.ImgURL, false)
	translations(c, &o.Translations, "title")
	c.tags(o.Tags)
	c.refs("included_platforms", o.IncludedPlatforms)
	c.platformPricing(o.PlatformPricing)
	c.keyValueGroups(o.KeyValueGroups, OnItem)
}

// ItemValues are the values that can differ between stores. The master holds the defaults for new stores. The external
// and markup price belong to the price. Platform prices of the master are not copied to stores.
type ItemValues struct {
	Price           core.Amount    `json:"price"`
	ExternalPrice   *core.Amount   `json:"external_price,omitempty"`
	MarkupPrice     *core.Amount   `json:"markup_price,omitempty"`
	SortOrder       int64          `json:"sort_order"`
	Recommended     bool           `json:"recommended"`
	Available       bool           `json:"available"`
	CurrentStock    int64          `json:"current_stock"`
	PlatformPricing jsontext.Value `json:"platform_pricing,omitzero"`
}

// apply assigns the values that were sent, to a master or a store.
func (v *ItemValues) apply(o *ItemObject) (changed bool) {
	setAmount(&changed, &v.Price, o.Price)
	setOptionalAmount(&changed, &v.ExternalPrice, o.ExternalPrice)
	setOptionalAmount(&changed, &v.MarkupPrice, o.MarkupPrice)
	set(&changed, &v.SortOrder, o.SortOrder)
	set(&changed, &v.Recommended, o.Recommended)
	set(&changed, &v.Available, o.Available)
	set(&changed, &v.CurrentStock, o.CurrentStock)
	setDocument(&changed, &v.PlatformPricing, mergePrices(v.PlatformPricing, o.PlatformPricing))
	return changed
}

// Item is the master record of an item.
type Item struct {
	Ref
	ItemValues
	Title string `json:"title"`
	// as last sent to the master, where it has no effect
	SoldAtStore       *bool          `json:"sold_at_store,omitzero"`
	RefTitle          *string        `json:"ref_title,omitzero"`
	Description       *string        `json:"description,omitzero"`
	Weight            *core.Amount   `json:"weight,omitempty"`
	Serves            *int64         `json:"serves,omitzero"`
	FoodType          FoodType       `json:"food_type,omitzero"`
	ImgURL            *string        `json:"img_url,omitzero"`
	FulfillmentModes  jsontext.Value `json:"fulfillment_modes,omitzero"`
	Images            jsontext.Value `json:"images,omitzero"`
	Translations      jsontext.Value `json:"translations,omitzero"`
	Tags              jsontext.Value `json:"tags,omitzero"`
	IncludedPlatforms jsontext.Value `json:"included_platforms,omitzero"` // nil: every platform
	KeyValueGroups    jsontext.Value `json:"key_value_groups,omitzero"`
}

func newItem(refID string) Item {
	return Item{Ref: Ref{RefID: refID, Active: true},
		ItemValues: ItemValues{Available: true, CurrentStock: NeverOutOfStock}}
}

// apply assigns the fields that all stores share.
func (r *Item) apply(o *ItemObject) (changed bool) {
	set(&changed, &r.Title, o.Title)
	setOptional(&changed, &r.RefTitle, o.RefTitle)
	setOptional(&changed, &r.Description, o.Description)
	setOptionalAmount(&changed, &r.Weight, o.Weight)
	setOptional(&changed, &r.Serves, o.Serves)
	set(&changed, &r.FoodType, o.FoodType)
	setOptional(&changed, &r.ImgURL, o.ImgURL)
	setDocument(&changed, &r.FulfillmentModes, encodeDocument(o.FulfillmentModes, o.FulfillmentModes != nil))
	setDocument(&changed, &r.Images, encodeDocument(o.Images, o.Images != nil))
	setDocument(&changed, &r.Translations, encodeDocument(o.Translations, o.Translations != nil))
	setDocument(&changed, &r.Tags, encodeDocument(o.Tags, o.Tags != nil))
	setDocument(&changed, &r.IncludedPlatforms, encodeDocument(o.IncludedPlatforms, o.IncludedPlatforms != nil))
	setDocument(&changed, &r.KeyValueGroups, encodeDocument(o.KeyValueGroups, o.KeyValueGroups != nil))
	return changed
}
