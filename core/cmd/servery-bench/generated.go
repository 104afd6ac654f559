package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
)

// object is a JSON object of a generated request. All requests are the same in every run.
type object = map[string]any

func generate(n int, one func(i int) object) []object {
	list := make([]object, n)
	for i := range list {
		list[i] = one(i)
	}
	return list
}

// encode is the value as JSON in which <, > and & stand for themselves, as clients send them.
func encode(value any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	check(encoder.Encode(value))
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

// payload is the body of an event, of 1 KB.
func payload(n int) []byte {
	body := fmt.Appendf(nil, `{"order":{"details":{"id":%d,"channel":"web"}},"instructions":"`, n)
	return append(append(body, strings.Repeat("leave it at the door ", 50)[:1<<10-2-len(body)]...), `"}`...)
}

// fromFile decodes a request, or generates it where there is no such file.
func fromFile(file string, generated map[string][]object) (request map[string][]object, origin string) {
	content, err := os.ReadFile(file)
	if file == "" || errors.Is(err, fs.ErrNotExist) {
		return generated, "generated"
	}
	check(err)
	check(json.Unmarshal(content, &request))
	return request, "real"
}

// mostStores is how many stores a request may contain.
const mostStores = 5000

// storeRequest is a request of n stores: those of the file, repeated with other ref_ids as often as needed.
func storeRequest(file string, n int) (body []byte, origin string) {
	request, origin := fromFile(file, map[string][]object{"stores": generate(mostStores, generatedStore)})
	rows := request["stores"]
	verify(len(rows) > 0, "%s contains no stores", file)
	return encode(object{"stores": generate(n, func(i int) object {
		store := maps.Clone(rows[i%len(rows)])
		if lap := i / len(rows); lap > 0 {
			store["ref_id"] = fmt.Sprintf("%v-%d", store["ref_id"], lap+1)
		}
		return store
	})}), origin
}

// generatedStore is like a store of a real chain: about a kilobyte, most of it opening hours.
func generatedStore(i int) object {
	cities := []string{"San Francisco", "Los Angeles", "Palmdale", "Oakland", "San José", "Sacramento", "Fresno"}
	city, zip := cities[i%len(cities)], fmt.Sprintf("%05d", 90001+i%6000)
	street := fmt.Sprintf("%d Harbour Street", 100+i)
	days := []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	timings := generate(len(days), func(d int) object {
		return object{"day": days[d], "slots": []object{{"start_time": fmt.Sprintf("%02d:%02d:00", 5+i%4, 30*(i%2)),
			"end_time": fmt.Sprintf("%02d:00:00", 20+(i+d)%4)}}}
	})
	return object{
		"ref_id": fmt.Sprint(10000 + i), "city": city, "name": street + " / " + city, "min_pickup_time": 300 + 60*(i%6),
		"min_delivery_time": 2700, "contact_phone": fmt.Sprintf("(415) 555-%04d", i%10000),
		"notification_phones": []string{fmt.Sprintf("+1415555%04d", i%10000)}, "min_order_value": 10.5,
		"hide_from_ui": false, "address": fmt.Sprintf("%s, %s %s County, California", street, zip, city),
		"zip_codes": []string{zip}, "geo_longitude": -122.467323 + float64(i%1000)/1000,
		"geo_latitude": 37.739684 - float64(i%1000)/1000, "active": true, "ordering_enabled": true, "timings": timings,
	}
}

// menuObjects are the objects of a menu by their kind.
type menuObjects map[string][]object

// coreGroups are the key-value groups that the hub knows without plugins.
var coreGroups = []string{"Servings", "Nutrition", "Deposit"}

// wholeMenu is the menu of the file, without the key-value groups that only plugins declare, or a generated one.
func wholeMenu(file string) (menu menuObjects, origin string) {
	menu, origin = fromFile(file, generatedMenu(generatedObjects))
	verify(len(menu["items"]) >= storeItems && len(menu["options"]) > 0, "%s is too small a menu", file)
	menu.keepCoreGroups()
	return menu, origin
}

func (m menuObjects) keepCoreGroups() {
	for _, one := range slices.Concat(m["items"], m["options"]) {
		if groups, has := one["key_value_groups"].([]any); has {
			one["key_value_groups"] = slices.DeleteFunc(groups, func(group any) bool {
				name, _ := group.(object)["group"].(string)
				return !slices.Contains(coreGroups, name)
			})
		}
	}
}

// size counts the objects of all kinds.
func (m menuObjects) size() (n int) {
	for _, list := range m {
		n += len(list)
	}
	return n
}

// shape describes the menu in notes.
func (m menuObjects) shape() string {
	return fmt.Sprintf("%d items, %d options, %d objects", len(m["items"]), len(m["options"]), m.size())
}

// sold is the items and options, for a request to one store.
func (m menuObjects) sold() menuObjects {
	return menuObjects{"items": m["items"], "options": m["options"]}
}

// changed is the menu with another price or title of each hundredth item and option; each number has other values.
func (m menuObjects) changed(number int) menuObjects {
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

// Of each kind, a generated menu contains as many objects as a request may.
const (
	generatedItems   = 2000
	generatedObjects = 14899
)

func categoryRef(i int) string { return fmt.Sprintf("kitchen-%02d", i) }
func itemRef(i int) string     { return fmt.Sprintf("kitchen-main-dish-%04d", i) }
func groupRef(i int) string    { return fmt.Sprintf("choice-%04d", i) }

func itemRefs(from, to int) (refs []string) {
	for i := from; i < to; i++ {
		refs = append(refs, itemRef(i))
	}
	return refs
}

// menuSize is how many objects of each kind a generated menu contains.
type menuSize struct {
	categories, parents, items, groups, options int
	nested                                      int // groups of options alone
}

// generatedMenu is like the menu of a real food court, described at length and partly translated. It contains about
// so many objects, in the same proportions at every size.
func generatedMenu(objects int) menuObjects {
	part := func(n int) int { return max((n*objects+generatedObjects/2)/generatedObjects, 1) }
	m := menuSize{part(46), part(8), part(generatedItems), part(2830), part(10000), part(17)}
	m.categories = max(m.categories, m.parents+1)
	return menuObjects{
		"categories": generate(m.categories, m.category), "items": generate(m.items, m.item),
		"option_groups": generate(m.groups+m.nested, m.group), "options": generate(m.options, m.option),
		"taxes": {
			generatedTax("CGST_P", 2.5, []string{"all"}), generatedTax("SGST_P", 2.5, itemRefs(0, m.items)),
			generatedTax("IGST_P", 5, itemRefs(0, m.items*39/100)),
		},
		"charges": {
			generatedCharge("PC_F", "delivery", object{"value": 3.0, "applicable_on": "item.quantity"},
				itemRefs(0, m.items/2)),
			generatedCharge("PC_P", "pickup", object{"value": 1.5, "applicable_on": "item.price"},
				itemRefs(m.items/2, m.items*61/100)),
			generatedCharge("DC_F", "delivery", object{"value": 39.0}, []string{"all"}),
		},
	}
}

func generatedTax(code string, rate float64, items []string) object {
	return object{"code": code, "title": code[:4], "active": code != "IGST_P", "structure": object{"value": rate},
		"item_ref_ids": items}
}

func generatedCharge(code, mode string, structure object, items []string) object {
	title := map[string]string{"PC": "Packaging Charge", "DC": "Delivery Charge"}[code[:2]]
	return object{"code": code, "title": title, "active": true, "structure": structure,
		"fulfillment_modes": []string{mode}, "item_ref_ids": items}
}

func translations(i int) []object {
	languages := []string{"hi", "fr", "de", "es", "ta"}
	return generate(len(languages), func(n int) object {
		return object{"language": languages[n], "title": fmt.Sprintf("व्यंजन %d — %s", i, prose(i, 8))}
	})
}

func nutrition(i int) []object {
	return []object{{"group": "Nutrition", "key_value_data": []object{
		{"key": "kcal_range_min", "value": fmt.Sprint(100 + i%500)},
		{"key": "kcal_range_max", "value": fmt.Sprint(150 + i%500)}}}}
}

func (m menuSize) category(i int) object {
	category := object{"ref_id": categoryRef(i), "name": fmt.Sprintf("Kitchen %d", i), "description": prose(i, 60),
		"sort_order": i, "active": true}
	if i >= m.parents && i%3 == 0 {
		category["parent_ref_id"] = categoryRef(i % m.parents)
	}
	return category
}

func (m menuSize) item(i int) object {
	item := object{
		"ref_id": itemRef(i), "title": fmt.Sprintf("Dish %d, %s", i, prose(i, 30)), "price": float64(90+i%900) + 0.5,
		"description": prose(i, 260), "sold_at_store": true, "available": true, "sort_order": i, "current_stock": -1,
		"category_ref_ids":  []string{categoryRef(m.parents + i%(m.categories-m.parents))},
		"fulfillment_modes": []string{"delivery", "pickup"}, "recommended": i%9 == 0, "key_value_groups": []object{},
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

func (m menuSize) group(i int) object {
	group := object{"ref_id": groupRef(i), "title": "Choose a size", "ref_title": prose(i, 30), "min_selectable": 1,
		"max_selectable": 1, "sort_order": i % 7, "active": true, "description": prose(i, 50)}
	if i < m.groups {
		group["item_ref_ids"] = itemRefs(i%m.items, i%m.items+1)
		if i%3 == 0 && i%m.items+2 <= m.items {
			group["item_ref_ids"] = itemRefs(i%m.items, i%m.items+2)
		}
	}
	return group
}

func (m menuSize) option(i int) object {
	group := i * (m.groups + m.nested) / m.options
	option := object{
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

// plainItems is a menu request of n items alone.
func plainItems(n int, with func(i int) object) []byte {
	return encode(object{"items": generate(n, func(i int) object {
		item := with(i)
		item["ref_id"], item["title"] = itemRef(i), fmt.Sprintf("Dish %d", i)
		return item
	})})
}

// orderedItems is how many items the menu of orders has.
const orderedItems = 500

// Prices whose tax of 5% is a whole number.
const (
	optionPrice = 20
	packing     = 3
	carriage    = 39
)

func orderedPrice(i int) int { return 100 + 20*(i%40) }

func optionRef(item, n int) string { return fmt.Sprintf("%s-portion-%d", groupRef(item), n) }

// orderedMenu is a menu of items with two options each, with taxes on all of them and charges.
func orderedMenu() menuObjects {
	shape := menuSize{categories: 46, parents: 8}
	everything := itemRefs(0, orderedItems)
	return menuObjects{
		"categories": generate(shape.categories, shape.category),
		"items": generate(orderedItems, func(i int) object {
			return object{"ref_id": itemRef(i), "title": "Dish " + prose(i, 20), "price": orderedPrice(i),
				"description": prose(i, 120), "sold_at_store": true, "available": true, "current_stock": -1,
				"category_ref_ids": []string{categoryRef(8 + i%38)}}
		}),
		"option_groups": generate(orderedItems, func(i int) object {
			return object{"ref_id": groupRef(i), "title": "Choose a size", "min_selectable": 0, "max_selectable": 2,
				"item_ref_ids": []string{itemRef(i)}}
		}),
		"options": generate(2*orderedItems, func(i int) object {
			return object{"ref_id": optionRef(i/2, i%2), "title": fmt.Sprintf("Portion %d", i%2), "price": optionPrice,
				"available": true, "sold_at_store": true, "opt_grp_ref_ids": []string{groupRef(i / 2)}}
		}),
		"taxes": {generatedTax("CGST_P", 2.5, []string{"all"}), generatedTax("SGST_P", 2.5, []string{"all"})},
		"charges": {
			generatedCharge("PC_F", "delivery", object{"value": packing, "applicable_on": "item.quantity"}, everything),
			generatedCharge("DC_F", "delivery", object{"value": carriage}, []string{"all"}),
		},
	}
}

const orderedStore = "S-ordered"

// orderShapes are orders of 1.2 KB without their platform_order_id: three items with options, an address, and a payment
// of the whole amount.
var orderShapes = sync.OnceValue(func() []string {
	shapes := make([]string, 250)
	for i := range shapes {
		total, pieces := 0, 0
		items := generate(3, func(n int) object {
			item, quantity := (i*7+n*61)%orderedItems, 1+(i+n)%2
			total, pieces = total+quantity*(orderedPrice(item)+optionPrice), pieces+quantity
			return object{"ref_id": itemRef(item), "title": "Dish " + prose(item, 20), "quantity": quantity,
				"price": orderedPrice(item), "options": []object{{"ref_id": optionRef(item, i%2),
					"title": fmt.Sprintf("Portion %d", i%2), "quantity": 1, "price": optionPrice}}}
		})
		shapes[i] = string(encode(object{
			"platform": "web", "store_ref_id": orderedStore, "order_type": "delivery", "delivery_type": "self",
			"items": items, "instructions": "ring twice, the dog is friendly; no cutlery, please",
			"customer": object{"name": fmt.Sprintf("Asha Kulkarni %d", i), "phone": fmt.Sprintf("+9198200%05d", i),
				"email": fmt.Sprintf("asha.%d@example.com", i),
				"address": object{"line_1": fmt.Sprintf("Flat %d, Lakeside Residency", i),
					"line_2": "14 Harbour Street", "landmark": "opposite the library", "city": "Pune",
					"sub_locality": "Koregaon Park", "pin": "411001", "latitude": 18.536208, "longitude": 73.893974}},
			"payment": []object{{"option": "prepaid", "amount": total + total/20 + packing*pieces + carriage,
				"srvr_trx_id": fmt.Sprintf("trx-%08d", i)}},
		}))
	}
	return shapes
})

// orderBody is the order of a number.
func orderBody(n int) []byte {
	shapes := orderShapes()
	return fmt.Appendf(nil, `{"platform_order_id":"W-%d",%s`, n, shapes[n%len(shapes)][1:])
}
