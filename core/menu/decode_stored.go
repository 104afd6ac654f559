package menu

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// DecodeStored decodes a stored entity: its master record, or a store's values. A menu has tens of thousands of these, so
// the most frequent kinds are decoded by hand, from the form in which the hub writes them. The JSON library decodes
// everything else. The database guarantees that it is valid JSON.
func DecodeStored(stored string, into any) error {
	if decodeFast(stored, into) {
		return nil
	}
	return json.Unmarshal([]byte(stored), into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// decodeFast decodes by hand, if possible.
func decodeFast(stored string, into any) bool {
	u := jsonReader{rest: stored, nonCanonical: !utf8.ValidString(stored)}
	switch into := into.(type) {
	case *Item:
		into.decode(&u)
	case *ItemValues:
		into.decode(&u)
	case *OptionGroup:
		into.decode(&u)
	case *Option:
		into.decode(&u)
	case *OptionValues:
		into.decode(&u)
	default:
		return false
	}
	return !u.nonCanonical
}

func (r *Item) decode(u *jsonReader) {
	for u.member() {
		if r.Ref.decodeMember(u) || r.ItemValues.decodeMember(u) {
			continue
		}
		switch u.name {
		case "title":
			r.Title = u.text()
		case "sold_at_store":
			r.SoldAtStore = new(u.bool())
		case "ref_title":
			r.RefTitle = new(u.text())
		case "description":
			r.Description = new(u.text())
		case "weight":
			r.Weight = new(u.amount())
		case "serves":
			r.Serves = new(u.int())
		case "food_type":
			r.FoodType = u.foodType()
		case "img_url":
			r.ImgURL = new(u.text())
		case "fulfillment_modes":
			r.FulfillmentModes = u.document()
		case "images":
			r.Images = u.document()
		case "translations":
			r.Translations = u.document()
		case "tags":
			r.Tags = u.document()
		case "included_platforms":
			r.IncludedPlatforms = u.document()
		case "key_value_groups":
			r.KeyValueGroups = u.document()
		default:
			u.nonCanonical = true
		}
	}
}

func (r *OptionGroup) decode(u *jsonReader) {
	for u.member() {
		if r.Ref.decodeMember(u) {
			continue
		}
		switch u.name {
		case "title":
			r.Title = u.text()
		case "description":
			r.Description = new(u.text())
		case "min_selectable":
			r.MinSelectable = u.int()
		case "max_selectable":
			r.MaxSelectable = u.int()
		case "multi_options_enabled":
			r.MultiOptionsEnabled = u.bool()
		case "sort_order":
			r.SortOrder = u.int()
		case "ref_title":
			r.RefTitle = new(u.text())
		case "display_inline":
			r.DisplayInline = u.bool()
		case "translations":
			r.Translations = u.document()
		default:
			u.nonCanonical = true
		}
	}
}

func (r *Option) decode(u *jsonReader) {
	for u.member() {
		if r.Ref.decodeMember(u) || r.OptionValues.decodeMember(u) {
			continue
		}
		switch u.name {
		case "title":
			r.Title = u.text()
		case "sold_at_store":
			r.SoldAtStore = new(u.bool())
		case "description":
			r.Description = new(u.text())
		case "sort_order":
			r.SortOrder = u.int()
		case "weight":
			r.Weight = new(u.int())
		case "img_url":
			r.ImgURL = new(u.text())
		case "food_type":
			r.FoodType = u.foodType()
		case "recommended":
			r.Recommended = u.bool()
		case "ref_title":
			r.RefTitle = new(u.text())
		case "images":
			r.Images = u.document()
		case "translations":
			r.Translations = u.document()
		case "key_value_groups":
			r.KeyValueGroups = u.document()
		default:
			u.nonCanonical = true
		}
	}
}

// decodeMember decodes the current member if it is a field of Ref.
func (r *Ref) decodeMember(u *jsonReader) bool {
	switch u.name {
	case "id":
		r.ID = u.int()
	case "ref_id":
		r.RefID = u.text()
	case "active":
		r.Active = u.bool()
	default:
		return false
	}
	return true
}

func (v *ItemValues) decode(u *jsonReader) {
	for u.member() {
		u.nonCanonical = !v.decodeMember(u) || u.nonCanonical
	}
}

func (v *ItemValues) decodeMember(u *jsonReader) bool {
	switch u.name {
	case "price":
		v.Price = u.amount()
	case "external_price":
		v.ExternalPrice = new(u.amount())
	case "markup_price":
		v.MarkupPrice = new(u.amount())
	case "sort_order":
		v.SortOrder = u.int()
	case "recommended":
		v.Recommended = u.bool()
	case "available":
		v.Available = u.bool()
	case "current_stock":
		v.CurrentStock = u.int()
	case "platform_pricing":
		v.PlatformPricing = u.document()
	default:
		return false
	}
	return true
}

func (v *OptionValues) decode(u *jsonReader) {
	for u.member() {
		u.nonCanonical = !v.decodeMember(u) || u.nonCanonical
	}
}

func (v *OptionValues) decodeMember(u *jsonReader) bool {
	switch u.name {
	case "price":
		v.Price = u.amount()
	case "available":
		v.Available = u.bool()
	default:
		return false
	}
	return true
}
