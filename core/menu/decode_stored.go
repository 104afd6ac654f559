package menu

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// DecodeStored decodes a stored entity: its master record, or a store's values. A menu has tens of thousands of these.
// The most frequent kinds are therefore decoded by hand, in the form that the hub writes. The JSON library decodes
// everything else. The database guarantees valid JSON.
func DecodeStored(stored string, into any) error {
	if decodeFast(stored, into) {
		return nil
	}
	return json.Unmarshal([]byte(stored), into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// decodeFast decodes by hand, if possible.
func decodeFast(stored string, into any) bool {
	j := jsonReader{rest: stored, nonCanonical: !utf8.ValidString(stored)}
	switch into := into.(type) {
	case *Item:
		into.decode(&j)
	case *ItemValues:
		into.decode(&j)
	case *OptionGroup:
		into.decode(&j)
	case *Option:
		into.decode(&j)
	case *OptionValues:
		into.decode(&j)
	default:
		return false
	}
	return !j.nonCanonical
}

func (r *Item) decode(j *jsonReader) {
	for j.member() {
		if r.Ref.decodeMember(j) || r.ItemValues.decodeMember(j) {
			continue
		}
		switch j.name {
		case "title":
			r.Title = j.text()
		case "sold_at_store":
			r.SoldAtStore = new(j.bool())
		case "ref_title":
			r.RefTitle = new(j.text())
		case "description":
			r.Description = new(j.text())
		case "weight":
			r.Weight = new(j.amount())
		case "serves":
			r.Serves = new(j.int())
		case "food_type":
			r.FoodType = j.foodType()
		case "img_url":
			r.ImgURL = new(j.text())
		case "fulfillment_modes":
			r.FulfillmentModes = j.document()
		case "images":
			r.Images = j.document()
		case "translations":
			r.Translations = j.document()
		case "tags":
			r.Tags = j.document()
		case "included_platforms":
			r.IncludedPlatforms = j.document()
		case "key_value_groups":
			r.KeyValueGroups = j.document()
		default:
			j.nonCanonical = true
		}
	}
}

func (r *OptionGroup) decode(j *jsonReader) {
	for j.member() {
		if r.Ref.decodeMember(j) {
			continue
		}
		switch j.name {
		case "title":
			r.Title = j.text()
		case "description":
			r.Description = new(j.text())
		case "min_selectable":
			r.MinSelectable = j.int()
		case "max_selectable":
			r.MaxSelectable = j.int()
		case "multi_options_enabled":
			r.MultiOptionsEnabled = j.bool()
		case "sort_order":
			r.SortOrder = j.int()
		case "ref_title":
			r.RefTitle = new(j.text())
		case "display_inline":
			r.DisplayInline = j.bool()
		case "translations":
			r.Translations = j.document()
		default:
			j.nonCanonical = true
		}
	}
}

func (r *Option) decode(j *jsonReader) {
	for j.member() {
		if r.Ref.decodeMember(j) || r.OptionValues.decodeMember(j) {
			continue
		}
		switch j.name {
		case "title":
			r.Title = j.text()
		case "sold_at_store":
			r.SoldAtStore = new(j.bool())
		case "description":
			r.Description = new(j.text())
		case "sort_order":
			r.SortOrder = j.int()
		case "weight":
			r.Weight = new(j.int())
		case "img_url":
			r.ImgURL = new(j.text())
		case "food_type":
			r.FoodType = j.foodType()
		case "recommended":
			r.Recommended = j.bool()
		case "ref_title":
			r.RefTitle = new(j.text())
		case "images":
			r.Images = j.document()
		case "translations":
			r.Translations = j.document()
		case "key_value_groups":
			r.KeyValueGroups = j.document()
		default:
			j.nonCanonical = true
		}
	}
}

// decodeMember decodes the current member if it is a field of Ref.
func (r *Ref) decodeMember(j *jsonReader) bool {
	switch j.name {
	case "id":
		r.ID = j.int()
	case "ref_id":
		r.RefID = j.text()
	case "active":
		r.Active = j.bool()
	default:
		return false
	}
	return true
}

func (v *ItemValues) decode(j *jsonReader) {
	for j.member() {
		j.nonCanonical = !v.decodeMember(j) || j.nonCanonical
	}
}

func (v *ItemValues) decodeMember(j *jsonReader) bool {
	switch j.name {
	case "price":
		v.Price = j.amount()
	case "external_price":
		v.ExternalPrice = new(j.amount())
	case "markup_price":
		v.MarkupPrice = new(j.amount())
	case "sort_order":
		v.SortOrder = j.int()
	case "recommended":
		v.Recommended = j.bool()
	case "available":
		v.Available = j.bool()
	case "current_stock":
		v.CurrentStock = j.int()
	case "platform_pricing":
		v.PlatformPricing = j.document()
	default:
		return false
	}
	return true
}

func (v *OptionValues) decode(j *jsonReader) {
	for j.member() {
		j.nonCanonical = !v.decodeMember(j) || j.nonCanonical
	}
}

func (v *OptionValues) decodeMember(j *jsonReader) bool {
	switch j.name {
	case "price":
		v.Price = j.amount()
	case "available":
		v.Available = j.bool()
	default:
		return false
	}
	return true
}
