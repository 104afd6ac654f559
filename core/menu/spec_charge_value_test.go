package menu

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// chargedItems returns the items that a charge names, or all.
func (h *memoryDB) chargedItems(key string) []string {
	for _, c := range ReadBack(MasterScope(), h.menu(MasterLocation), View{}).Charges {
		if c.Key() == key {
			return c.ItemRefIDs
		}
	}
	return []string{"no such charge"}
}

// seenCharges returns the items of the charges that customers see, by key.
func (h *memoryDB) seenCharges() map[string][]string {
	seen := map[string][]string{}
	web := core.Platform{Name: "web", ServedBy: core.ServedByMerchant}
	for _, c := range Effective("S1", h.menu("S1"), web, nil).Charges {
		seen[c.Key()] = c.ItemRefIDs
	}
	return seen
}

func TestItemHasOneValueOfACharge(t *testing.T) {
	onItems := func(value, fields string) string {
		return `M {"charges":[{"code":"PC_F","title":"Packaging Charge","structure":{"value":` + value +
			`,"applicable_on":"item.quantity"},` + fields + `}]}`
	}
	const low, high, items = "PC_F 2 item.quantity", "PC_F 3 item.quantity", "S1" + two
	holds := func(inLow, inHigh []string, warnings ...Warning) func(*testing.T, *memoryDB, Plan) {
		return func(t *testing.T, h *memoryDB, last Plan) {
			require.ElementsMatch(t, inLow, h.chargedItems(low))
			require.ElementsMatch(t, inHigh, h.chargedItems(high))
			require.Equal(t, warnings, last.Warnings)
		}
	}
	tea, cake, both, all := []string{"tea"}, []string{"cake"}, []string{"tea", "cake"}, []string{"all"}
	both2 := onItems("2", `"item_ref_ids":["tea","cake"]`)
	runEffects(t, []effectRow{
		{"the latest", []string{items, both2, onItems("3", `"item_ref_ids":["tea"]`)}, holds(cake, tea)},
		{"all takes every item, with a warning", []string{items, both2, onItems("3", `"item_ref_ids":["all"]`)},
			holds([]string{}, all, Warning{"charges", low + " no longer applies to 2 items outside this request"})},
		{"all takes all", []string{items, onItems("2", `"item_ref_ids":["all"]`),
			onItems("3", `"item_ref_ids":["all"]`)}, holds([]string{}, all)},
		{"of other fulfillment modes", []string{items, both2,
			onItems("3", `"item_ref_ids":["tea"],"fulfillment_modes":["pickup"]`)}, holds(both, tea)},
		{"of other platforms", []string{items, both2,
			onItems("3", `"item_ref_ids":["tea"],"excluded_platforms":["web"]`)}, holds(both, tea)},
		{"modes that become equal", []string{items, both2,
			onItems("3", `"item_ref_ids":["tea"],"fulfillment_modes":["pickup"]`),
			onItems("2", `"fulfillment_modes":["pickup"]`)}, holds(both, []string{},
			Warning{"charges", high + " no longer applies to 1 item outside this request"})},
		{"modes that become others", []string{items, both2, onItems("2", `"fulfillment_modes":["pickup"]`),
			onItems("3", `"item_ref_ids":["tea"]`)}, holds(both, tea)},
		{"an inactive one takes nothing", []string{items, onItems("2", `"item_ref_ids":["tea"]`),
			onItems("3", `"item_ref_ids":["tea","cake"],"active":false`)}, holds(tea, cake, Warning{
			"charges[].item_ref_ids", "item_ref_ids of " + high + ", which is inactive, applies to none of " + low +
				", which is active"})},
		{"an active one takes from an inactive one", []string{items,
			onItems("3", `"item_ref_ids":["tea","cake"],"active":false`), onItems("2", `"item_ref_ids":["tea"]`)},
			holds(tea, cake)},
		{"a charge that names an item precedes one for all", []string{items, onItems("2", `"item_ref_ids":["all"]`),
			onItems("3", `"item_ref_ids":["tea"]`)}, func(t *testing.T, h *memoryDB, _ Plan) {
			require.Equal(t, map[string][]string{low: cake, high: tea}, h.seenCharges())
		}},
	})
}

func TestOrderChargeWithItemsHasOneValue(t *testing.T) {
	onOrder := func(value, fields string) string {
		return `M {"charges":[{"code":"DC_F","title":"Delivery Charge","structure":{"value":` + value + `},` + fields +
			`}]}`
	}
	const items = "S1" + two
	sees := func(want map[string][]string) func(*testing.T, *memoryDB, Plan) {
		return func(t *testing.T, h *memoryDB, _ Plan) { require.Equal(t, want, h.seenCharges()) }
	}
	tea, all := []string{"tea"}, []string{"all"}
	runEffects(t, []effectRow{
		{"one without its items is on no order", []string{items, onOrder("3", `"item_ref_ids":["tea"]`),
			onOrder("4", `"item_ref_ids":["tea"]`)}, sees(map[string][]string{"DC_F 4 ": tea})},
		{"one without all is on no order", []string{items, onOrder("3", `"item_ref_ids":["all"]`),
			onOrder("4", `"item_ref_ids":["all"]`)}, sees(map[string][]string{"DC_F 4 ": all})},
		{"and gets its items again", []string{items, onOrder("3", `"item_ref_ids":["all"]`),
			onOrder("4", `"item_ref_ids":["all"]`), onOrder("3", `"item_ref_ids":["all"]`)},
			sees(map[string][]string{"DC_F 3 ": all})},
		{"an inactive one that got no item is on no order", []string{items, onOrder("3", `"item_ref_ids":["tea"]`),
			onOrder("4", `"item_ref_ids":["tea"],"active":false`), onOrder("4", `"active":true`)},
			sees(map[string][]string{"DC_F 3 ": tea})},
	})
}

func TestChargesSharingAStoredItemBothLoseIt(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "IN")
	h.send(MasterLocation, two)
	for _, value := range []string{"1", "2", "3"} {
		h.send(MasterLocation, `{"charges":[{"code":"PC_F","title":"Packaging Charge","structure":{"value":`+value+
			`,"applicable_on":"item.quantity"},"item_ref_ids":["tea"]}]}`)
		for id := range h.charges { // an earlier release left the item with each
			h.links[ChargeItem][linkEnds{id, h.item("tea").ID}] = 0
		}
	}
	h.send(MasterLocation, `{"charges":[{"code":"PC_F","structure":{"value":3,"applicable_on":"item.quantity"},`+
		`"item_ref_ids":["tea"]}]}`)
	require.Empty(t, h.chargedItems("PC_F 1 item.quantity"))
	require.Empty(t, h.chargedItems("PC_F 2 item.quantity"))
	require.Equal(t, []string{"tea"}, h.chargedItems("PC_F 3 item.quantity"))
}

func TestActiveChargesAndTaxesAreBounded(t *testing.T) {
	h := newMemoryDB(t, nil, "US")
	charge := func(value int, fields string) string {
		return fmt.Sprintf(`{"code":"PC_F","title":"Packaging Charge","structure":{"value":%d}%s}`, value, fields)
	}
	tax := func(value int, fields string) string {
		return fmt.Sprintf(`{"code":"ST_P","title":"Sales Tax","structure":{"value":%d.%03d}%s}`,
			value/1000, value%1000, fields)
	}
	for kind, object := range map[Kind]func(int, string) string{Charges: charge, Taxes: tax} {
		send := func(flush bool, from, to int, fields string) []Outcome {
			var objects []string
			for value := from; value < to; value++ {
				objects = append(objects, object(value, fields))
			}
			_, plan := h.send(MasterLocation, fmt.Sprintf(`{"flush_%s":%t,"%s":[%s]}`, kind, flush, kind,
				strings.Join(objects, ",")))
			return slices.DeleteFunc(plan.Outcomes[kind], func(o Outcome) bool { return o.Message == "" })
		}
		refused := send(false, 1, maxActiveRates+3, "")
		require.Len(t, refused, 2, kind)
		require.Equal(t, "a business can have at most 1000 active "+kind.String()+": deactivate others first",
			refused[0].Message)
		require.Empty(t, send(false, 5000, 5010, `,"active":false`), "inactive ones do not count")
		require.Len(t, send(false, 5000, 5010, `,"active":true`), 10, "activated")
		require.Empty(t, send(false, 1, 5, ""), "active already")
		require.Empty(t, send(false, 1, 11, `,"active":false`), "deactivated")
		require.Empty(t, send(false, 5000, 5010, `,"active":true`))
		require.Empty(t, send(true, 7000, 8000, ""), "a flush deactivates the others")
	}
}
