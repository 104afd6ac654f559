package order

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// pizzeria returns a store with an item that has two groups. One of them has a group nested under an option.
func pizzeria() PricingContext {
	s := cafe()
	s.Items = map[string]*MenuItem{
		"pizza": {ID: 1, Title: "Pizza", Price: amount("10"), Stock: 5,
			Groups: []MenuGroup{
				{ID: 11, Title: "Size", Active: true, Min: 1, Max: 1}, {ID: 12, Title: "Topping", Active: true, Max: 3},
				{ID: 13, Title: "Inactive", Min: 1, Max: -1}}},
		"cola": {ID: 2, Title: "Cola", Price: amount("2"), Stock: -1},
	}
	option := func(id int64, groups ...int64) *MenuOption {
		return &MenuOption{ID: id, Title: "O", Price: amount("1"), Groups: groups}
	}
	s.Options = map[string]*MenuOption{
		"large": option(21, 11), "small": option(22, 11), "ham": option(23, 12), "egg": option(24, 12, 14),
		"old":   option(25, 13),
		"runny": option(26, 14), "ice": option(27, 15), "sold-elsewhere": option(28),
	}
	s.Options["ham"].Nested = []MenuGroup{{ID: 14, Title: "Egg", Active: true, Max: 1}}
	s.Options["sold-elsewhere"].Reason = menu.NotSold
	s.Taxes, s.Charges = nil, nil
	return s
}

func flagged(t *testing.T, pricing PricingContext, body string) []string {
	t.Helper()
	draft, err := Decode([]byte(body))
	require.NoError(t, err)
	relay, err := Place(draft, pricing, id, noon)
	require.NoError(t, err)
	list := []string{}
	for _, flag := range relay.Order.Details.Flags {
		list = append(list, flag.Path+" "+flag.Code)
	}
	return list
}

func TestOptionsAreCheckedAgainstTheirGroups(t *testing.T) {
	for options, want := range map[string][]string{
		`{"ref_id":"large"}`:                    {},
		``:                                      {"items[0] too_few_options"},
		`{"ref_id":"large"},{"ref_id":"small"}`: {"items[0] too_many_options"},
		`{"ref_id":"large","quantity":5}`:       {"items[0] too_many_options"},
		`{"ref_id":"large"},{"ref_id":"egg","quantity":3}`:                    {},
		`{"ref_id":"large"},{"ref_id":"egg","quantity":4}`:                    {"items[0] too_many_options"},
		`{"ref_id":"large"},{"ref_id":"ice"}`:                                 {"items[0].options[1] not_on_menu"},
		`{"ref_id":"large"},{"ref_id":"old"}`:                                 {"items[0].options[1] unavailable"},
		`{"ref_id":"large"},{"ref_id":"runny"}`:                               {"items[0].options[1] not_on_menu"},
		`{"ref_id":"large"},{"ref_id":"runny"},{"ref_id":"ham"}`:              {},
		`{"ref_id":"large"},{"ref_id":"ham"},{"ref_id":"runny","quantity":2}`: {"items[0] too_many_options"},
		`{"ref_id":"large"},{"ref_id":"ham","quantity":3},{"ref_id":"egg"}`:   {}, // egg is in the nested group
		`{"ref_id":"large"},{"ref_id":"nowhere","price":1}`:                   {"items[0].options[1] not_on_menu"},
		`{"ref_id":"large"},{"ref_id":"sold-elsewhere","price":1}`:            {"items[0].options[1] not_sold"},
	} {
		require.Equal(t, want, flagged(t, pizzeria(),
			withItem(`"ref_id":"pizza","quantity":1,"options":[`+options+`]`)), options)
	}
	require.Equal(t, []string{"items[0].options[0] not_on_menu"},
		flagged(t, pizzeria(), withItem(`"ref_id":"cola","quantity":1,"options":[{"ref_id":"ham"}]`)))
	require.Equal(t, []string{"items[0] not_on_menu"},
		flagged(t, pizzeria(), withItem(`"ref_id":"soup","price":1,"quantity":1,"options":[{"ref_id":"ham"}]`)),
		"an unknown item gets no further flags")
}

func TestStockIsCheckedAcrossAllOrderLines(t *testing.T) {
	const line = `"ref_id":"pizza","quantity":%d,"options":[{"ref_id":"small"}]`
	lines := func(first, second int) string { return withItem(fmt.Sprintf(line+`},{`+line, first, second)) }
	require.Empty(t, flagged(t, pizzeria(), lines(3, 2)))
	require.Equal(t, []string{"items[1] out_of_stock"}, flagged(t, pizzeria(), lines(3, 3)))
}

func TestOpeningHoursAreCheckedAtTheDeliveryTime(t *testing.T) {
	pricing := pizzeria()
	pricing.Store.Hours.Week = []core.DayHours{{Day: "saturday",
		Slots: []core.HoursSlot{{StartTime: "04:00:00", EndTime: "05:00:00"}}}}
	cola := func(more string) []string {
		return flagged(t, pricing,
			`{"platform":"web","platform_order_id":"1","store_ref_id":"s1","items":[{"ref_id":"cola","quantity":1}]`+
				more+`}`)
	}
	later := fmt.Sprintf(`,"delivery_datetime":%d`, noon.Add(time.Hour).UnixMilli())
	for hours, want := range map[int][2][]string{-8: {{}, {"store_ref_id store_closed"}},
		-9: {{"store_ref_id store_closed"}, {}}, 0: {{"store_ref_id store_closed"}, {"store_ref_id store_closed"}}} {
		pricing.Store.Zone = time.FixedZone("", hours*60*60) // noon is on a Saturday
		require.Equal(t, want[0], cola(""), hours)
		require.Equal(t, want[1], cola(later), hours)
	}
}

func TestMinimumOrderAppliesOnlyToOwnChannels(t *testing.T) {
	pricing, minimum := pizzeria(), amount("4")
	pricing.Store.MinOrder = &minimum
	for quantity, want := range map[string][]string{"1": {"order_subtotal below_minimum"}, "2": {}} {
		cola := withItem(`"ref_id":"cola","quantity":` + quantity)
		pricing.Platform.ServedBy = "aggregator-a"
		require.Empty(t, flagged(t, pricing, cola))
		pricing.Platform.ServedBy = core.ServedByMerchant
		require.Equal(t, want, flagged(t, pricing, cola))
	}
}

func TestParentIsAnEarlierOption(t *testing.T) {
	for parent, allowed := range map[string]bool{`0`: true, `null`: true, `1`: false, `2`: false, `-1`: false} {
		_, err := Decode([]byte(withItem(`"ref_id":"pizza","quantity":1,"options":[{"ref_id":"ham"},` +
			`{"ref_id":"egg","parent":` + parent + `}]`)))
		if allowed {
			require.NoError(t, err, parent)
			continue
		}
		require.EqualError(t, err, `items[0] (ref_id "pizza"): options[1].parent must be the index of an earlier `+
			`option of the item, not `+parent)
	}
}

func TestPrepareForIsATime(t *testing.T) {
	_, err := Decode([]byte(shortest(`,"prepare_for":1733155800`)))
	require.EqualError(t, err, "prepare_for must be a time in epoch milliseconds, not 1733155800")
}
