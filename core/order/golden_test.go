package order

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
	"github.com/servery-hub/servery/core/menu"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func amount(s string) core.Amount {
	a, err := core.ParseAmount(s)
	if err != nil {
		panic(err)
	}
	return a
}

// cafe returns the pricing context of the golden files.
func cafe() PricingContext {
	item := func(id int64, title, price string) *MenuItem {
		return &MenuItem{ID: id, Title: title, FoodType: "1", Price: amount(price), Stock: -1}
	}
	s := PricingContext{
		Business: 1, Name: "Harbour Coffee", Currency: "USD",
		Platform: core.Platform{Name: "aggregator-a", ServedBy: "aggregator-a"},
		Store: Store{ID: 1040, RefID: "S-17", Name: "Market Street", Address: "900 Market Street, San Francisco",
			Latitude: new(amount("37.7762")), Longitude: new(amount("-122.4167")),
			PlatformStoreID: "77310", Active: true, OrderingEnabled: true, Listed: true},
		Items: map[string]*MenuItem{
			"latte": item(7001, "Latte", "4.50"), "croissant": item(7002, "Butter croissant", "3.95"),
			"sold-out":  item(7003, "Sold out", "1"),
			"elsewhere": item(7004, "Elsewhere", "0"), "closed": item(7005, "Closed", "1"),
			"web-only": item(7006, "Web only", "1"),
		},
		Options: map[string]*MenuOption{"oat": {ID: 7101, Title: "Oat milk", Price: amount("0.75"),
			Groups: []int64{7201}}},
		Taxes: []MenuTax{
			{Code: "ST_P", Title: "Sales Tax", Percent: amount("2"), Items: map[int64]bool{7002: true}},
			{Code: "ST_P", Title: "Sales Tax", Percent: amount("8.625"), All: true},
		},
		Charges: []MenuCharge{
			{Title: "Delivery Charge", Basis: OnOrder, Value: amount("2.99"), Kinds: []string{"delivery"}},
			{Title: "Delivery Charge", Basis: OnOrder, Value: amount("100"), Excluded: []string{"aggregator-a"}},
			{Title: "Delivery Charge", Basis: OnSubtotal, Value: amount("1.5")},
			{Title: "Packaging Charge", Basis: OnOrder, Value: amount("50"), HasItemList: true},
			{Title: "Packaging Charge", Basis: OnPrice, Value: amount("3.3"), Items: map[int64]bool{7002: true},
				HasItemList: true},
			{Title: "Packaging Charge", Basis: OnQuantity, Value: amount("0.255"), All: true},
		},
	}
	s.Items["latte"].Groups = []MenuGroup{{ID: 7201, Title: "Milk", Active: true, Max: -1}}
	s.Items["latte"].Tags = []string{"hot"}
	s.Items["sold-out"].Stock = 0
	s.Items["elsewhere"].Reason = menu.NotSold
	s.Items["closed"].Reason = menu.Unavailable
	s.Items["web-only"].Reason = menu.NotListed
	return s
}

var (
	noon = time.Date(2026, 11, 21, 12, 0, 0, 123_456_789, time.UTC)
	id   = int64(10001)
)

// requireGolden compares JSON with a golden file, digit for digit.
func requireGolden(t *testing.T, file string, body []byte) {
	t.Helper()
	text := jsontext.Value(body)
	require.NoError(t, text.Indent(jsontext.WithIndent("  ")))
	if *update {
		require.NoError(t, os.WriteFile(file, append(text, '\n'), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(text)+"\n")
}

func TestOrdersMatchGoldenFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.order.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			require.NoError(t, err)
			draft, err := Decode(body)
			require.NoError(t, err)
			relay, err := Place(draft, cafe(), id, noon)
			require.NoError(t, err)
			written, err := json.Marshal(&relay)
			require.NoError(t, err)
			eventtest.Check(t, core.OrderPlaced, written)
			requireGolden(t, strings.Replace(file, ".order.", ".placed.", 1), written)
			read, err := Record{State: Placed, Relay: written}.ToAPI()
			require.NoError(t, err)
			again, err := json.Marshal(read.Relay)
			require.NoError(t, err)
			require.Equal(t, string(written), string(again), "the stored body decodes without change")
		})
	}
}

func TestStatusUpdatesMatchGoldenFiles(t *testing.T) {
	minutes := int64(20)
	for name, change := range map[string]Change{
		"acknowledged": {To: Acknowledged, Message: "20 minutes", PrepMinutes: &minutes},
		"cancelled":    {To: Cancelled, ReasonCode: "items_out_of_stock"},
	} {
		body, err := StatusUpdate(Subject{OrderID: id, Platform: "aggregator-a",
			PlatformOrderID: "880142173", StoreRefID: "S-17"}, Placed, change, noon)
		require.NoError(t, err)
		eventtest.Check(t, core.OrderStatusUpdate, body)
		requireGolden(t, "testdata/golden/status_"+name+".json", body)
	}
}

func TestAPIOrderShowsCurrentAndNextStates(t *testing.T) {
	draft, err := Decode([]byte(shortest("")))
	require.NoError(t, err)
	draft.Items[0].Price = &core.Amount{}
	relay, err := Place(draft, cafe(), id, noon)
	require.NoError(t, err)
	written, err := json.Marshal(relay)
	require.NoError(t, err)
	read, err := Record{State: Completed, Relay: written}.ToAPI()
	require.NoError(t, err)
	require.Equal(t, Completed, read.Order.Details.State)
	require.Empty(t, read.Order.NextState)
	require.Equal(t, []State{}, read.Order.NextStates)
	require.Equal(t, NotOnMenu, read.Flags[0].Code)
}

func TestUnknownPriceIsRequired(t *testing.T) {
	for body, message := range map[string]string{
		withItem(`"ref_id":"x","quantity":1`): `items[0] (ref_id "x"): price is required: the store's menu has no ` +
			`such item`,
		withItem(`"ref_id":"elsewhere","quantity":1`): `items[0] (ref_id "elsewhere"): price is required: the ` +
			`store's menu has no such item`,
		withItem(`"ref_id":"latte","quantity":1,"options":[{"ref_id":"oat"},{"ref_id":"y"}]`): `items[0] (ref_id ` +
			`"latte"): options[1].price is required: the store's menu has no such option`,
	} {
		draft, err := Decode([]byte(body))
		require.NoError(t, err)
		_, err = Place(draft, cafe(), id, noon)
		require.Equal(t, core.Invalid, core.CodeOf(err))
		require.EqualError(t, err, message)
	}
}

func TestStoreProblemsAreFlagged(t *testing.T) {
	draft, err := Decode([]byte(withItem(`"ref_id":"latte","quantity":1`)))
	require.NoError(t, err)
	pricing := cafe()
	pricing.Store.Active, pricing.Store.OrderingEnabled, pricing.Store.Listed = false, false, false
	relay, err := Place(draft, pricing, id, noon)
	require.NoError(t, err)
	codes := []string{}
	for _, flag := range relay.Order.Details.Flags {
		require.Equal(t, "store_ref_id", flag.Path)
		codes = append(codes, flag.Code)
	}
	require.Equal(t, []string{StoreInactive, OrderingDisabled, NotListed}, codes)
}

func TestDefaultDeliveryModeDependsOnThePlatform(t *testing.T) {
	for servedBy, want := range map[string]DeliveryMode{core.ServedByMerchant: SelfDelivery,
		"aggregator-b": PartnerDelivery} {
		draft, err := Decode([]byte(withItem(`"ref_id":"latte","quantity":1`)))
		require.NoError(t, err)
		pricing := cafe()
		pricing.Platform.ServedBy = servedBy
		relay, err := Place(draft, pricing, id, noon)
		require.NoError(t, err)
		require.Equal(t, want, relay.Order.Details.Platforms[0].DeliveryMode)
	}
}

func TestAmountsAreRoundedToTheCurrency(t *testing.T) {
	for code, want := range map[string]string{"USD": "1.01", "JPY": "1", "KWD": "1.005"} {
		draft, err := Decode([]byte(withItem(`"ref_id":"x","quantity":1,"price":1.005`)))
		require.NoError(t, err)
		pricing := PricingContext{Currency: code}
		relay, err := Place(draft, pricing, id, noon)
		require.NoError(t, err)
		require.Equal(t, want, relay.Order.Details.Total.String(), code)
		require.Equal(t, "1.005", relay.Order.Items[0].Price.String(), "sent prices are unchanged")
	}
}

func TestChannelFieldsOfAmountsArePassedOn(t *testing.T) {
	draft, err := Decode([]byte(`{"platform":"aggregator-a","platform_order_id":"1","store_ref_id":"S-17",
		"items":[{"ref_id":"latte","quantity":2,"options":[{"ref_id":"oat","quantity":3}]}],
		"taxes":[{"title":"Sales Tax","value":1,"liability_on":"aggregator"}],
		"discounts":[{"value":1,"is_merchant_discount":false}]}`))
	require.NoError(t, err)
	relay, err := Place(draft, cafe(), id, noon)
	require.NoError(t, err)
	require.Equal(t, "aggregator", relay.Order.Details.Taxes[0].LiabilityOn)
	require.Equal(t, new(false), relay.Order.Details.Platforms[0].Discounts[0].ByMerchant)
	require.Equal(t, "2.25", relay.Order.Items[0].Options[0].TotalPrice.String())
	require.Equal(t, ChosenGroup{7201, "Milk"}, relay.Order.Items[0].Options[0].Group)
}
