package main

import (
	"encoding/json"
	"fmt"
)

// orderedItems is how many items the menu has that orders are of.
const orderedItems = 500

// orderedMenu is a menu of orderedItems, each with a choice of two options, with
// taxes on all of it and charges on some.
func orderedMenu() map[string]any {
	items, groups, options := make([]object, orderedItems), make([]object, orderedItems), make([]object, 0, 2*orderedItems)
	for i := range items {
		items[i] = object{
			"ref_id": itemRef(i), "title": "Dish " + prose(i, 20), "price": orderedPrice(i), "description": prose(i, 120), "sold_at_store": true,
			"available": true, "current_stock": -1, "category_ref_ids": []string{categoryRef(kitchenOf(i))},
		}
		groups[i] = object{"ref_id": groupRef(i), "title": "Choose a size", "min_selectable": 0, "max_selectable": 2, "item_ref_ids": []string{itemRef(i)}}
		for n := range 2 {
			options = append(options, object{"ref_id": optionRef(i, n), "title": fmt.Sprintf("Portion %d", n), "price": optionPrice,
				"available": true, "sold_at_store": true, "opt_grp_ref_ids": []string{groupRef(i)}})
		}
	}
	return map[string]any{
		"categories": generate(generatedCategories, generatedCategory), "items": items, "option_groups": groups, "options": options,
		"taxes": []object{
			{"code": "CGST_P", "title": "CGST", "active": true, "structure": object{"value": 2.5}, "item_ref_ids": []string{"all"}},
			{"code": "SGST_P", "title": "SGST", "active": true, "structure": object{"value": 2.5}, "item_ref_ids": []string{"all"}},
		},
		"charges": []object{
			{"code": "PC_F", "title": "Packaging Charge", "active": true, "structure": object{"value": packing, "applicable_on": "item.quantity"},
				"fulfillment_modes": []string{"delivery"}, "item_ref_ids": itemRefs(0, orderedItems)},
			{"code": "DC_F", "title": "Delivery Charge", "active": true, "structure": object{"value": carriage},
				"fulfillment_modes": []string{"delivery"}, "item_ref_ids": []string{"all"}},
		},
	}
}

// What things cost: such that a tax of 5% is a whole number.
const (
	optionPrice = 20
	packing     = 3
	carriage    = 39
)

func orderedPrice(i int) int { return 100 + 20*(i%40) }

func optionRef(item, n int) string { return fmt.Sprintf("%s-portion-%d", groupRef(item), n) }

// orderShapes is how many orders there are that differ in more than their name.
const orderShapes = 250

// orderBodies makes orders of 1.2 KB for a store: three items with options, an
// address, a payment that comes to what is payable. It returns what follows
// their platform_order_id.
func orderBodies(store string) ([][]byte, error) {
	bodies := make([][]byte, orderShapes)
	for i := range bodies {
		total, pieces := 0, 0
		items := make([]object, 3)
		for n := range items {
			item, quantity := (i*7+n*61)%orderedItems, 1+(i+n)%2
			items[n] = object{"ref_id": itemRef(item), "title": "Dish " + prose(item, 20), "quantity": quantity, "price": orderedPrice(item),
				"options": []object{{"ref_id": optionRef(item, i%2), "title": fmt.Sprintf("Portion %d", i%2), "quantity": 1, "price": optionPrice}}}
			total, pieces = total+quantity*(orderedPrice(item)+optionPrice), pieces+quantity
		}
		body, err := json.Marshal(object{
			"platform": "web", "store_ref_id": store, "order_type": "delivery", "delivery_type": "self", "items": items,
			"instructions": "ring twice, the dog is friendly; no cutlery, please",
			"customer": object{"name": fmt.Sprintf("Asha Kulkarni %d", i), "phone": fmt.Sprintf("+9198200%05d", i), "email": fmt.Sprintf("asha.%d@example.com", i),
				"address": object{"line_1": fmt.Sprintf("Flat %d, Lakeside Residency", i), "line_2": "14 Harbour Street", "landmark": "opposite the library",
					"city": "Pune", "sub_locality": "Koregaon Park", "pin": "411001", "latitude": 18.536208, "longitude": 73.893974}},
			"payment": []object{{"option": "prepaid", "amount": total + total/20 + packing*pieces + carriage, "srvr_trx_id": fmt.Sprintf("trx-%08d", i)}},
		})
		if err != nil {
			return nil, err
		}
		bodies[i] = body[1:] // an object's name follows
	}
	return bodies, nil
}

// orderBody is the order of a number.
func orderBody(bodies [][]byte, n int) []byte {
	rest := bodies[n%len(bodies)]
	body := fmt.Appendf(make([]byte, 0, len(rest)+48), `{"platform_order_id":"W-%d",`, n)
	return append(body, rest...)
}
