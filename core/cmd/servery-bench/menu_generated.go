package main

import (
	"fmt"
	"strings"
)

// How much of each kind a generated menu holds: as much as a request may.
const (
	generatedCategories = 46
	generatedAbove      = 8 // categories that hold others and no items
	generatedItems      = 2000
	generatedGroups     = 2830
	generatedNested     = 17 // groups that stand under options alone
	generatedOptions    = 10000
)

// generatedMenu makes a menu like that of a real food court: 6.7 MB, described at
// length, some of it translated. It is the same every time.
func generatedMenu() map[string]any {
	return map[string]any{
		"categories": generate(generatedCategories, generatedCategory), "items": generate(generatedItems, generatedItem),
		"option_groups": generate(generatedGroups+generatedNested, generatedGroup), "options": generate(generatedOptions, generatedOption),
		"taxes": generatedTaxes(), "charges": generatedCharges(),
	}
}

type object = map[string]any

func generate(n int, one func(i int) object) []object {
	list := make([]object, n)
	for i := range list {
		list[i] = one(i)
	}
	return list
}

// kitchenOf is the category that an item is in.
func kitchenOf(i int) int { return generatedAbove + i%(generatedCategories-generatedAbove) }

func categoryRef(i int) string { return fmt.Sprintf("kitchen-%02d", i) }
func itemRef(i int) string     { return fmt.Sprintf("kitchen-%02d-dish-%04d", kitchenOf(i), i) }
func groupRef(i int) string    { return fmt.Sprintf("choice-%04d", i) }

// prose is a text of about the length.
func prose(i, length int) string {
	words := strings.Fields("grilled paneer with smoked paprika, crème fraîche, basmati rice & lentils, a slice of lime, coriander; served warm")
	var b strings.Builder
	for n := i; b.Len() < length; n++ {
		b.WriteString(words[n%len(words)] + " ")
	}
	return fmt.Sprintf("%s(%d g)", b.String(), 100+i%700)
}

func translations(i int) []object {
	list := make([]object, 0, 5)
	for _, language := range []string{"hi", "fr", "de", "es", "ta"} {
		list = append(list, object{"language": language, "title": fmt.Sprintf("व्यंजन %d — %s", i, prose(i, 8))})
	}
	return list
}

func nutrition(i int) []object {
	return []object{{"group": "Nutrition", "key_value_data": []object{
		{"key": "kcal_range_min", "value": fmt.Sprint(100 + i%500)}, {"key": "kcal_range_max", "value": fmt.Sprint(150 + i%500)},
	}}}
}

func generatedCategory(i int) object {
	category := object{"ref_id": categoryRef(i), "name": fmt.Sprintf("Kitchen %d", i), "description": prose(i, 60), "sort_order": i, "active": true}
	if i >= generatedCategories-14 {
		category["parent_ref_id"] = categoryRef(i % generatedAbove)
	}
	return category
}

func generatedItem(i int) object {
	item := object{
		"ref_id": itemRef(i), "title": fmt.Sprintf("Dish %d, %s", i, prose(i, 30)), "price": float64(90+i%900) + 0.5,
		"description": prose(i, 260), "sold_at_store": true, "available": true, "sort_order": i, "current_stock": -1,
		"category_ref_ids": []string{categoryRef(kitchenOf(i))}, "fulfillment_modes": []string{"delivery", "pickup"},
		"recommended": i%9 == 0, "key_value_groups": []object{},
	}
	if i%5 == 0 {
		item["key_value_groups"] = nutrition(i)
	}
	if i%3 == 0 {
		item["translations"], item["weight"] = translations(i), 100+i%700
		item["tags"] = object{"default": []string{"veg", fmt.Sprintf("tag-%d", i%40)}}
	}
	return item
}

func generatedGroup(i int) object {
	group := object{
		"ref_id": groupRef(i), "title": "Choose a size", "ref_title": prose(i, 30), "min_selectable": 1, "max_selectable": 1,
		"sort_order": i % 7, "active": true, "description": prose(i, 50),
	}
	if i < generatedGroups {
		group["item_ref_ids"] = []string{itemRef(i % generatedItems)}
		if i%3 == 0 {
			group["item_ref_ids"] = []string{itemRef(i % generatedItems), itemRef((i + 1) % generatedItems)}
		}
	}
	return group
}

func generatedOption(i int) object {
	group := i * (generatedGroups + generatedNested) / generatedOptions
	option := object{
		"ref_id": fmt.Sprintf("%s-option-%05d", groupRef(group), i), "title": fmt.Sprintf("Portion %d", i%9), "price": float64(i % 40),
		"description": prose(i, 45), "available": true, "sold_at_store": true, "sort_order": i % 9, "weight": 100 + i%700,
		"recommended": i%20 == 0, "opt_grp_ref_ids": []string{groupRef(group)}, "key_value_groups": nutrition(i),
	}
	if i%9 == 0 && group+1 < generatedGroups {
		option["opt_grp_ref_ids"] = []string{groupRef(group), groupRef(group + 1)}
	}
	if i%8 == 0 {
		option["translations"] = translations(i)
	}
	if i%117 == 0 && group < generatedGroups-1 {
		option["nested_opt_grps"] = []string{groupRef(generatedGroups + i/117%generatedNested)}
	}
	return option
}

func itemRefs(from, to int) []string {
	refs := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		refs = append(refs, itemRef(i))
	}
	return refs
}

func generatedTaxes() []object {
	return []object{
		{"code": "CGST_P", "title": "CGST", "active": true, "structure": object{"value": 2.5}, "item_ref_ids": []string{"all"}},
		{"code": "SGST_P", "title": "SGST", "active": true, "structure": object{"value": 2.5}, "item_ref_ids": itemRefs(0, generatedItems)},
		{"code": "IGST_P", "title": "Integrated GST", "active": false, "structure": object{"value": 5.0}, "item_ref_ids": itemRefs(0, 780)},
	}
}

func generatedCharges() []object {
	return []object{
		{"code": "PC_F", "title": "Packaging Charge", "active": true, "structure": object{"value": 3.0, "applicable_on": "item.quantity"},
			"fulfillment_modes": []string{"delivery"}, "item_ref_ids": itemRefs(0, 1030)},
		{"code": "PC_P", "title": "Packaging Charge", "active": true, "structure": object{"value": 1.5, "applicable_on": "item.price"},
			"fulfillment_modes": []string{"pickup"}, "item_ref_ids": itemRefs(1030, 1220)},
		{"code": "DC_F", "title": "Delivery Charge", "active": true, "structure": object{"value": 39.0},
			"fulfillment_modes": []string{"delivery"}, "item_ref_ids": []string{"all"}},
	}
}
