package compat

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook/catalogue"
)

// requiredKeys are the keys that receivers read without a check for presence, by event, with their types. A key after
// [] belongs to every element of a list. A type that ends in ? may be null, all others are empty when unknown
// (moving.md: every key is always present).
var requiredKeys = map[core.EventType]string{
	core.OrderPlaced: `
		customer object
		customer.name string
		customer.email string
		customer.phone string
		customer.address object
		customer.address.line_1 string
		customer.address.line_2 string
		customer.address.landmark string
		customer.address.city string
		customer.address.sub_locality string
		customer.address.pin string
		customer.address.latitude number?
		customer.address.longitude number?
		order.details.id number
		order.details.biz_id number
		order.details.biz_name string
		order.details.channel string
		order.details.order_state string
		order.details.state string
		order.details.order_type string
		order.details.created number
		order.details.delivery_datetime number?
		order.details.prep_time number?
		order.details.instructions string
		order.details.coupon string
		order.details.order_subtotal number
		order.details.discount number
		order.details.total_charges number
		order.details.total_taxes number
		order.details.item_level_total_charges number
		order.details.item_level_total_taxes number
		order.details.order_level_total_charges number
		order.details.order_level_total_taxes number
		order.details.order_total number
		order.details.payable_amount number
		order.details.is_bulk_order boolean
		order.details.charges list
		order.details.charges[].title string
		order.details.charges[].value number
		order.details.taxes list
		order.details.taxes[].title string
		order.details.taxes[].rate number?
		order.details.taxes[].value number
		order.details.taxes[].liability_on string
		order.details.ext_platforms list
		order.details.ext_platforms[].id string
		order.details.ext_platforms[].kind string
		order.details.ext_platforms[].name string
		order.details.ext_platforms[].delivery_type string
		order.details.ext_platforms[].platform_store_id string
		order.details.ext_platforms[].extras.is_bulk_order boolean
		order.details.ext_platforms[].discounts list
		order.details.ext_platforms[].discounts[].title string
		order.details.ext_platforms[].discounts[].code string
		order.details.ext_platforms[].discounts[].value number
		order.details.ext_platforms[].discounts[].is_merchant_discount boolean?
		order.items list
		order.items[].id number
		order.items[].merchant_id string
		order.items[].title string
		order.items[].food_type string
		order.items[].price number
		order.items[].quantity number
		order.items[].total number
		order.items[].total_with_tax number
		order.items[].instructions string
		order.items[].tags list
		order.items[].charges list
		order.items[].charges[].title string
		order.items[].charges[].value number
		order.items[].taxes list
		order.items[].taxes[].title string
		order.items[].taxes[].rate number?
		order.items[].taxes[].value number
		order.items[].taxes[].liability_on string
		order.items[].options_to_add list
		order.items[].options_to_add[].id number
		order.items[].options_to_add[].merchant_id string
		order.items[].options_to_add[].title string
		order.items[].options_to_add[].price number
		order.items[].options_to_add[].quantity number
		order.items[].options_to_add[].total_price number
		order.items[].options_to_add[].group.id number
		order.items[].options_to_add[].group.title string
		order.payment list
		order.payment[].option string
		order.payment[].amount number
		order.payment[].srvr_trx_id string
		order.store.id number
		order.store.merchant_ref_id string
		order.store.name string
		order.store.address string
		order.store.latitude number?
		order.store.longitude number?
		order.next_state string
		order.next_states list`,
	core.OrderStatusUpdate: `
		order_id number
		prev_state string
		new_state string
		store_id string
		timestamp string
		timestamp_unix number
		message string
		additional_info.external_channel.name string
		additional_info.external_channel.order_id string
		additional_info.reason_code string
		additional_info.prep_time_mins number?`,
	core.RiderStatusUpdate: `
		order_id number
		store.id number
		store.ref_id string
		delivery_info.current_state string
		delivery_info.mode string
		delivery_info.delivery_person_details.name string
		delivery_info.delivery_person_details.phone string
		delivery_info.delivery_person_details.alt_phone string
		delivery_info.delivery_person_details.user_id number?
		delivery_info.status_updates list
		delivery_info.status_updates[].status string
		delivery_info.status_updates[].created number
		delivery_info.status_updates[].comments string
		additional_info.external_channel.name string
		additional_info.external_channel.order_id string`,
	core.StoreCreation: `
		reference string
		stats.created number
		stats.updated number
		stats.errors number
		stores list
		stores[].ref_id string
		stores[].upipr_status.action string
		stores[].upipr_status.error boolean`,
	core.InventoryUpdate: `
		reference string
		location_ref_id string
		stats object`,
}

// missing returns the required keys that an event lacks, or has with another type.
func missing(event string, body any) (problems []string) {
	for line := range strings.Lines(requiredKeys[core.EventType(event)]) {
		if path, want, found := strings.Cut(strings.TrimSpace(line), " "); found {
			problems = append(problems, missingKey(body, path, want)...)
		}
	}
	return problems
}

// missingKey returns the problems at a path of required keys.
func missingKey(body any, path, want string) []string {
	before, below, inList := strings.Cut(path, "[].")
	v := body
	for _, name := range strings.Split(before, ".") {
		object, is := v.(map[string]any)
		if v, is = object[name], is && has(object, name); !is {
			return []string{"lacks " + path}
		}
	}
	if !inList {
		if !isOf(v, want) {
			return []string{fmt.Sprintf("%s is %v, which is no %s", path, v, want)}
		}
		return nil
	}
	list, is := v.([]any)
	if !is {
		return []string{before + " is no list"}
	}
	var problems []string
	for i, element := range list {
		for _, problem := range missingKey(element, below, want) {
			problems = append(problems, fmt.Sprintf("%s[%d] %s", before, i, problem))
		}
	}
	return problems
}

func has(object map[string]any, name string) bool {
	_, has := object[name]
	return has
}

func isOf(v any, want string) bool {
	kind, nullable := strings.CutSuffix(want, "?")
	switch v.(type) {
	case nil:
		return nullable
	case string:
		return kind == "string"
	case float64:
		return kind == "number"
	case bool:
		return kind == "boolean"
	case []any:
		return kind == "list"
	default:
		return kind == "object"
	}
}

// TestRequiredKeysAreChecked removes each required key from the sample of its event.
func TestRequiredKeysAreChecked(t *testing.T) {
	for event, lines := range requiredKeys {
		sample := catalogue.Sample(event)
		var whole any
		require.NoError(t, json.Unmarshal(sample, &whole))
		require.Empty(t, missing(string(event), whole), event)
		for line := range strings.Lines(lines) {
			path, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if path == "" {
				continue
			}
			var body any
			require.NoError(t, json.Unmarshal(sample, &body))
			if removeKey(body, path) {
				last := path[strings.LastIndex(path, ".")+1:]
				require.Contains(t, strings.Join(missing(string(event), body), "\n"), last)
			}
		}
	}
}

// removeKey removes a key at each place of a path. It returns false if the path leads into empty lists.
func removeKey(v any, path string) (removed bool) {
	name, rest, deeper := strings.Cut(path, ".")
	name, list := strings.CutSuffix(name, "[]")
	object := v.(map[string]any)
	switch {
	case !deeper:
		removed = has(object, name)
		delete(object, name)
	case list:
		for _, element := range object[name].([]any) {
			removed = removeKey(element, rest) || removed
		}
	default:
		removed = removeKey(object[name], rest)
	}
	return removed
}
