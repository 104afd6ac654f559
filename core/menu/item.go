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
	Title             *string             `json:"title" check:"1..1000"`
	Price             *core.Amount        `json:"price" check:"price"`
	ExternalPrice     *core.Amount        `json:"external_price" check:"price"`
	MarkupPrice       *core.Amount        `json:"markup_price" check:"price"`
	RefTitle          *string             `json:"ref_title" check:"0..1000"`
	Description       *string             `json:"description" check:"0..20000"`
	Weight            *core.Amount        `json:"weight" check:"0.."` // grams
	SoldAtStore       *bool               `json:"sold_at_store"`
	Available         *bool               `json:"available"`
	SortOrder         *int64              `json:"sort_order" check:"0.."`
	Serves            *int64              `json:"serves" check:"1.."`
	CurrentStock      *int64              `json:"current_stock" check:"-1.."`
	CategoryRefIDs    []string            `json:"category_ref_ids"`
	FulfillmentModes  []string            `json:"fulfillment_modes"`
	FoodType          *FoodType           `json:"food_type"`
	Recommended       *bool               `json:"recommended"`
	Images            []Image             `json:"images"`
	ImgURL            *string             `json:"img_url" check:"link"`
	Translations      []TitledTranslation `json:"translations"`
	Tags              map[string][]string `json:"tags"`
	IncludedPlatforms []string            `json:"included_platforms"`
	PlatformPricing   []PlatformPrice     `json:"platform_pricing"`
	KeyValueGroups    []KeyValueGroup     `json:"key_value_groups"`
	ClearOptionGroups bool                `json:"clear_option_groups"`
}

func (o *ItemObject) refID() *string   { return o.RefID }
func (o *ItemObject) identity() string { return valueOf(o.RefID) }

var itemObjectFields = fieldsOf[ItemObject]()

func (o *ItemObject) check(c *checker) {
	c.refIDField(o.RefID)
	if o.RefID != nil && *o.RefID == AllItems {
		c.fail("ref_id", "reserved", `must not be "all": in a tax or charge that stands for every item`)
	}
	c.required("price", o.Price != nil)
	if o.Serves != nil && *o.Serves == 0 {
		o.Serves = nil
		c.warn("serves", "is 0, and is read as absent")
	}
	itemObjectFields.check(c, o)
	c.references("category_ref_ids", &o.CategoryRefIDs)
	c.oneOf("fulfillment_modes", o.FulfillmentModes, fulfillmentModes)
	c.images(o.Images)
	translations(c, &o.Translations, "title")
	c.tags(&o.Tags)
	c.platforms("included_platforms", &o.IncludedPlatforms)
	c.platformPricing(o.PlatformPricing)
	c.keyValueGroups(o.KeyValueGroups, OnItem)
}

// ItemValues are the values that can differ between stores. The master holds the defaults for new stores. The external
// and markup price belong to the price. Platform prices of the master are not copied to stores.
type ItemValues struct {
	Price         core.Amount  `json:"price"`
	ExternalPrice *core.Amount `json:"external_price,omitempty"`
	MarkupPrice   *core.Amount `json:"markup_price,omitempty"`
	ItemStoreDetails
	Available       bool           `json:"available"`
	PlatformPricing jsontext.Value `json:"platform_pricing,omitzero"`
}

// ItemStoreDetails are the values of a store that its customers see unchanged.
type ItemStoreDetails struct {
	SortOrder    int64 `json:"sort_order"`
	Recommended  bool  `json:"recommended"`
	CurrentStock int64 `json:"current_stock"`
}

var itemValuesAssignments = assignmentsOf[ItemValues, ItemObject]("platform_pricing")

// apply assigns the values that were sent, to a master or a store.
func (v *ItemValues) apply(o *ItemObject) (changed bool) {
	changed = itemValuesAssignments.assign(v, o)
	setDocument(&changed, &v.PlatformPricing, mergePrices(v.PlatformPricing, o.PlatformPricing))
	return changed
}

// Item is the master record of an item.
type Item struct {
	Ref
	ItemValues
	ItemDetails
	// as last sent to the master, where it has no effect
	SoldAtStore       *bool          `json:"sold_at_store,omitzero"`
	RefTitle          *string        `json:"ref_title,omitzero"`
	ImgURL            *string        `json:"img_url,omitzero"`
	Images            jsontext.Value `json:"images,omitzero"`
	Tags              jsontext.Value `json:"tags,omitzero"`
	IncludedPlatforms jsontext.Value `json:"included_platforms,omitzero"` // nil: every platform
}

// ItemDetails are the fields of the master record that customers see unchanged.
type ItemDetails struct {
	Title            string         `json:"title"`
	Description      *string        `json:"description,omitzero"`
	Weight           *core.Amount   `json:"weight,omitempty"`
	Serves           *int64         `json:"serves,omitzero"`
	FoodType         FoodType       `json:"food_type,omitzero"`
	FulfillmentModes jsontext.Value `json:"fulfillment_modes,omitzero"`
	Translations     jsontext.Value `json:"translations,omitzero"`
	KeyValueGroups   jsontext.Value `json:"key_value_groups,omitzero"`
}

func newItem(refID string) Item {
	r := Item{Ref: Ref{RefID: refID, Active: true}}
	r.Available, r.CurrentStock = true, NeverOutOfStock
	return r
}

var itemAssignments = assignmentsOf[Item, ItemObject](
	fieldsOf[ItemValues]().names(fieldsOf[Ref]().names("sold_at_store")...)...)

// apply assigns the fields that all stores share.
func (r *Item) apply(o *ItemObject) (changed bool) { return itemAssignments.assign(r, o) }
