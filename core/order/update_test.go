package order

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
)

func TestUpdateSummaryNamesEachChange(t *testing.T) {
	amount := func(text string) core.Amount {
		parsed, err := core.ParseAmount(text)
		require.NoError(t, err)
		return parsed
	}
	line := func(ref, id string, quantity int64, price string, options ...Option) Item {
		return Item{RefID: ref, Title: ref, LineID: id, Quantity: quantity, Price: amount(price), Options: options}
	}
	hot, mild := Option{RefID: "hot"}, Option{RefID: "mild"}
	for name, row := range map[string]struct {
		before, after []Item
		want          []ItemChange
	}{
		"nothing": {[]Item{line("a", "", 1, "1")}, []Item{line("a", "", 1, "1.0")}, []ItemChange{}},
		"quantity": {[]Item{line("a", "", 1, "1")}, []Item{line("a", "", 2, "1")},
			[]ItemChange{{LineQuantity, "a", "a", "", 1, 2}}},
		"price": {[]Item{line("a", "", 1, "1")}, []Item{line("a", "", 1, "2")},
			[]ItemChange{{LineDetails, "a", "a", "", 1, 1}}},
		"substituted": {[]Item{line("a", "L1", 1, "1")}, []Item{line("b", "L2", 1, "1")},
			[]ItemChange{{LineAdded, "b", "b", "L2", 0, 1}, {LineRemoved, "a", "a", "L1", 1, 0}}},
		"line ids decide": {[]Item{line("a", "L1", 1, "1"), line("a", "L2", 5, "1")}, []Item{line("a", "L2", 5, "1")},
			[]ItemChange{{LineRemoved, "a", "a", "L1", 1, 0}}},
		"a line with the same options first": {[]Item{line("a", "", 1, "1", hot), line("a", "", 2, "1", mild)},
			[]Item{line("a", "", 2, "1", mild)}, []ItemChange{{LineRemoved, "a", "a", "", 1, 0}}},
		"other options": {[]Item{line("a", "", 1, "1", hot)}, []Item{line("a", "", 1, "1", mild)},
			[]ItemChange{{LineDetails, "a", "a", "", 1, 1}}},
	} {
		before, after := Relay{}, Relay{}
		before.Order.Items, after.Order.Items = row.before, row.after
		before.Order.Details.Total, after.Order.Details.Total = amount("5"), amount("4.50")
		summary := Update{ChangeID: "c"}.Summarise(before, after)
		require.Equal(t, row.want, summary.Items, name)
		require.Len(t, summary.Amounts, 1)
		require.Equal(t, "order_total", summary.Amounts[0].Name)
	}
}

func TestUpdateKeepsStoreAndDelivery(t *testing.T) {
	update := Update{ChangeID: "c", Order: []byte(`{"platform":"x","platform_order_id":"y","store_ref_id":"-",` +
		`"order_type":"pickup","delivery_type":"self","items":[{"ref_id":"a","quantity":1}]}`)}
	placed := Original{Kind: ForDelivery, Mode: PartnerDelivery, Bulk: true}
	placed.Platform, placed.PlatformOrderID, placed.StoreRefID = "b", "B-1", "s1"
	draft, err := update.Draft(placed)
	require.NoError(t, err)
	require.Equal(t, []any{"b", core.Identifier("B-1"), core.Identifier("s1"), ForDelivery, PartnerDelivery, true},
		[]any{draft.Platform, draft.PlatformOrderID, draft.StoreRefID, draft.Kind, draft.DeliveryMode, draft.Bulk})
	for _, state := range States() {
		placed.State = state
		require.Equal(t, len(state.Next()) == 0, core.CodeOf(placed.CheckUpdate()) == core.Conflict, state)
	}
}

func TestUpdatesInEveryStateMatchTheirSchema(t *testing.T) {
	draft, err := Decode([]byte(withItem(`"ref_id":"latte","quantity":1`)))
	require.NoError(t, err)
	relay, err := Place(draft, cafe(), id, noon)
	require.NoError(t, err)
	for _, state := range States() {
		if len(state.Next()) == 0 {
			continue // CheckUpdate rejects a change of an order that has ended
		}
		body, err := Updated(relay, state, Update{ChangeID: "c"}.Summarise(relay, relay))
		require.NoError(t, err)
		eventtest.Check(t, core.OrderUpdated, body)
	}
}

func TestFlagCountFitsItsColumn(t *testing.T) {
	for flags, want := range map[int]int16{0: 0, 2: 2, math.MaxInt16 + 1: math.MaxInt16} {
		require.Equal(t, want, (&Details{Flags: make([]Flag, flags)}).FlagCount(), flags)
	}
}
