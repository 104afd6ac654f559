// Package requests generates large requests: stores and menus like those of real chains. They are the same in every
// run.
package requests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Object is a JSON object of a request.
type Object = map[string]any

// List returns n objects.
func List(n int, one func(i int) Object) []Object {
	list := make([]Object, n)
	for i := range list {
		list[i] = one(i)
	}
	return list
}

// Encode is the value as JSON in which <, > and & stand for themselves, as clients send them.
func Encode(value any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // only values that JSON cannot hold
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// prose is a text of about the length.
func prose(i, length int) string {
	words := strings.Fields("grilled paneer with smoked paprika, crème fraîche, basmati rice & lentils, a slice of " +
		"lime, coriander; served warm")
	var b strings.Builder
	for n := i; b.Len() < length; n++ {
		b.WriteString(words[n%len(words)] + " ")
	}
	return fmt.Sprintf("%s(%d g)", b.String(), 100+i%700)
}

// Event is the body of an event, of 1 KB.
func Event(n int) []byte {
	body := fmt.Appendf(nil, `{"order":{"details":{"id":%d,"channel":"web"}},"instructions":"`, n)
	return append(append(body, strings.Repeat("leave it at the door ", 50)[:1<<10-2-len(body)]...), `"}`...)
}

// read decodes the request of a file. Without a file, it is the generated one.
func read(file string, generated map[string][]Object) (request map[string][]Object, err error) {
	if file == "" {
		return generated, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return request, json.Unmarshal(content, &request)
}

// MaxStores is how many stores a request may contain.
const MaxStores = 5000

// Stores is a request of n stores: those of the file, repeated with other ref_ids as often as needed.
func Stores(file string, n int) ([]byte, error) {
	request, err := read(file, map[string][]Object{"stores": List(MaxStores, generatedStore)})
	rows := request["stores"]
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("no stores in %q: %w", file, err)
	}
	return Encode(Object{"stores": List(n, func(i int) Object {
		store := maps.Clone(rows[i%len(rows)])
		if lap := i / len(rows); lap > 0 {
			store["ref_id"] = fmt.Sprintf("%v-%d", store["ref_id"], lap+1)
		}
		return store
	})}), nil
}

// generatedStore is like a store of a real chain: about a kilobyte, most of it opening hours.
func generatedStore(i int) Object {
	cities := []string{"San Francisco", "Los Angeles", "Palmdale", "Oakland", "San José", "Sacramento", "Fresno"}
	city, zip := cities[i%len(cities)], fmt.Sprintf("%05d", 90001+i%6000)
	street := fmt.Sprintf("%d Harbour Street", 100+i)
	days := []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	timings := List(len(days), func(d int) Object {
		return Object{"day": days[d], "slots": []Object{{"start_time": fmt.Sprintf("%02d:%02d:00", 5+i%4, 30*(i%2)),
			"end_time": fmt.Sprintf("%02d:00:00", 20+(i+d)%4)}}}
	})
	return Object{
		"ref_id": fmt.Sprint(10000 + i), "city": city, "name": street + " / " + city, "min_pickup_time": 300 + 60*(i%6),
		"min_delivery_time": 2700, "contact_phone": fmt.Sprintf("(415) 555-%04d", i%10000),
		"notification_phones": []string{fmt.Sprintf("+1415555%04d", i%10000)}, "min_order_value": 10.5,
		"hide_from_ui": false, "address": fmt.Sprintf("%s, %s %s County, California", street, zip, city),
		"zip_codes": []string{zip}, "geo_longitude": -122.467323 + float64(i%1000)/1000,
		"geo_latitude": 37.739684 - float64(i%1000)/1000, "active": true, "ordering_enabled": true, "timings": timings,
	}
}

// Menu is the objects of a menu by their kind.
type Menu map[string][]Object

// coreGroups are the key-value groups that the hub knows without plugins.
var coreGroups = []string{"Servings", "Nutrition", "Deposit"}

// WholeMenu is the menu of the file, without the key-value groups that only plugins declare, or a generated one.
func WholeMenu(file string) (Menu, error) {
	rows, err := read(file, NewMenu(MenuObjects))
	menu := Menu(rows)
	menu.keepCoreGroups()
	return menu, err
}

func (m Menu) keepCoreGroups() {
	for _, one := range slices.Concat(m["items"], m["options"]) {
		if groups, has := one["key_value_groups"].([]any); has {
			one["key_value_groups"] = slices.DeleteFunc(groups, func(group any) bool {
				name, _ := group.(Object)["group"].(string)
				return !slices.Contains(coreGroups, name)
			})
		}
	}
}

// Size counts the objects of all kinds.
func (m Menu) Size() (n int) {
	for _, list := range m {
		n += len(list)
	}
	return n
}

// String describes the menu in notes.
func (m Menu) String() string {
	return fmt.Sprintf("%d items, %d options, %d objects", len(m["items"]), len(m["options"]), m.Size())
}

// Sold is the items and options, for a request to one store.
func (m Menu) Sold() Menu {
	return Menu{"items": m["items"], "options": m["options"]}
}

// Changed is the menu with another price or title of each hundredth item and option; each number has other values.
func (m Menu) Changed(number int) Menu {
	other := maps.Clone(m)
	for _, kind := range []string{"items", "options"} {
		other[kind] = slices.Clone(m[kind])
		for i := 50; i < len(m[kind]); i += 100 {
			row := maps.Clone(m[kind][i])
			if price, ok := row["price"].(float64); ok && i/100%2 == 0 {
				row["price"] = price + float64(number)/4
			} else {
				row["title"] = fmt.Sprintf("%s (%d)", row["title"], number)
			}
			other[kind][i] = row
		}
	}
	return other
}

// MenuObjects is how many objects the largest generated menu has. Of each kind, it contains as many as a request may.
const (
	generatedItems = 2000
	MenuObjects    = 14899
)

func categoryRef(i int) string { return fmt.Sprintf("kitchen-%02d", i) }

// ItemRef is the ref_id of an item of a generated menu.
func ItemRef(i int) string  { return fmt.Sprintf("kitchen-main-dish-%04d", i) }
func groupRef(i int) string { return fmt.Sprintf("choice-%04d", i) }

// ItemRefs are those of some items.
func ItemRefs(from, to int) (refs []string) {
	for i := from; i < to; i++ {
		refs = append(refs, ItemRef(i))
	}
	return refs
}

// menuSize is how many objects of each kind a generated menu contains.
type menuSize struct {
	categories, parents, items, groups, options int
	nested                                      int // groups of options alone
}

// NewMenu is like the menu of a real food court, described at length and partly translated. It contains about
// so many objects, in the same proportions at every size.
func NewMenu(objects int) Menu {
	part := func(n int) int { return max((n*objects+MenuObjects/2)/MenuObjects, 1) }
	m := menuSize{part(46), part(8), part(generatedItems), part(2830), part(10000), part(17)}
	m.categories = max(m.categories, m.parents+1)
	return Menu{
		"categories": List(m.categories, m.category), "items": List(m.items, m.item),
		"option_groups": List(m.groups+m.nested, m.group), "options": List(m.options, m.option),
		"taxes": {
			generatedTax("CGST_P", 2.5, []string{"all"}), generatedTax("SGST_P", 2.5, ItemRefs(0, m.items)),
			generatedTax("IGST_P", 5, ItemRefs(0, m.items*39/100)),
		},
		"charges": {
			generatedCharge("PC_F", "delivery", Object{"value": 3.0, "applicable_on": "item.quantity"},
				ItemRefs(0, m.items/2)),
			generatedCharge("PC_P", "pickup", Object{"value": 1.5, "applicable_on": "item.price"},
				ItemRefs(m.items/2, m.items*61/100)),
			generatedCharge("DC_F", "delivery", Object{"value": 39.0}, []string{"all"}),
		},
	}
}

func generatedTax(code string, rate float64, items []string) Object {
	return Object{"code": code, "title": code[:4], "active": code != "IGST_P", "structure": Object{"value": rate},
		"item_ref_ids": items}
}

func generatedCharge(code, mode string, structure Object, items []string) Object {
	title := map[string]string{"PC": "Packaging Charge", "DC": "Delivery Charge"}[code[:2]]
	return Object{"code": code, "title": title, "active": true, "structure": structure,
		"fulfillment_modes": []string{mode}, "item_ref_ids": items}
}

func translations(i int) []Object {
	languages := []string{"hi", "fr", "de", "es", "ta"}
	return List(len(languages), func(n int) Object {
		return Object{"language": languages[n], "title": fmt.Sprintf("व्यंजन %d — %s", i, prose(i, 8))}
	})
}

func nutrition(i int) []Object {
	return []Object{{"group": "Nutrition", "key_value_data": []Object{
		{"key": "kcal_range_min", "value": fmt.Sprint(100 + i%500)},
		{"key": "kcal_range_max", "value": fmt.Sprint(150 + i%500)}}}}
}

func (m menuSize) category(i int) Object {
	category := Object{"ref_id": categoryRef(i), "name": fmt.Sprintf("Kitchen %d", i), "description": prose(i, 60),
		"sort_order": i, "active": true}
	if i >= m.parents && i%3 == 0 {
		category["parent_ref_id"] = categoryRef(i % m.parents)
	}
	return category
}

func (m menuSize) item(i int) Object {
	item := Object{
		"ref_id": ItemRef(i), "title": fmt.Sprintf("Dish %d, %s", i, prose(i, 30)), "price": float64(90+i%900) + 0.5,
		"description": prose(i, 260), "sold_at_store": true, "available": true, "sort_order": i, "current_stock": -1,
		"category_ref_ids":  []string{categoryRef(m.parents + i%(m.categories-m.parents))},
		"fulfillment_modes": []string{"delivery", "pickup"}, "recommended": i%9 == 0, "key_value_groups": []Object{},
	}
	if i%5 == 0 {
		item["key_value_groups"] = nutrition(i)
	}
	if i%3 == 0 {
		item["translations"], item["weight"] = translations(i), 100+i%700
		item["tags"] = Object{"default": []string{"veg", fmt.Sprintf("tag-%d", i%40)}}
	}
	return item
}

func (m menuSize) group(i int) Object {
	group := Object{"ref_id": groupRef(i), "title": "Choose a size", "ref_title": prose(i, 30), "min_selectable": 1,
		"max_selectable": 1, "sort_order": i % 7, "active": true, "description": prose(i, 50)}
	if i < m.groups {
		group["item_ref_ids"] = ItemRefs(i%m.items, i%m.items+1)
		if i%3 == 0 && i%m.items+2 <= m.items {
			group["item_ref_ids"] = ItemRefs(i%m.items, i%m.items+2)
		}
	}
	return group
}

func (m menuSize) option(i int) Object {
	group := i * (m.groups + m.nested) / m.options
	option := Object{
		"ref_id": fmt.Sprintf("%s-option-%05d", groupRef(group), i), "title": fmt.Sprintf("Portion %d", i%9),
		"price": float64(i % 40), "description": prose(i, 45), "available": true, "sold_at_store": true,
		"sort_order": i % 9, "weight": 100 + i%700, "recommended": i%20 == 0,
		"opt_grp_ref_ids": []string{groupRef(group)}, "key_value_groups": nutrition(i),
	}
	if i%9 == 0 && group+1 < m.groups {
		option["opt_grp_ref_ids"] = []string{groupRef(group), groupRef(group + 1)}
	}
	if i%8 == 0 {
		option["translations"] = translations(i)
	}
	if i%117 == 0 && group < m.groups-1 {
		option["nested_opt_grps"] = []string{groupRef(m.groups + i/117%m.nested)}
	}
	return option
}

// Items is a menu request of n items alone, which share the other fields.
func Items(n int, fields Object) []byte {
	return Encode(Object{"items": List(n, func(i int) Object {
		item := maps.Clone(fields)
		item["ref_id"], item["title"] = ItemRef(i), fmt.Sprintf("Dish %d", i)
		return item
	})})
}

// CheckedItems is a menu request of n items. Every other one lacks a nutrition value that plugins require.
func CheckedItems(n int) []byte {
	values := []Object{{"key": "fat_mg", "value": "120"}, {"key": "protein_mg", "value": "900"},
		{"key": "calorie_kcal", "value": "310"}, {"key": "fiber_mg", "value": "40"}}
	return Encode(Object{"items": List(n, func(i int) Object {
		return Object{"ref_id": ItemRef(i), "title": fmt.Sprintf("Dish %d", i), "price": 4.5,
			"description":      "Slow-cooked and served with rice",
			"key_value_groups": []Object{{"group": "NutritionalInfo", "key_value_data": values[:4-i%2]}}}
	})})
}
