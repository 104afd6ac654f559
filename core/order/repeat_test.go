package order

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestDifferencesOfRepeatedOrdersAreShort(t *testing.T) {
	const body = `{"platform":"web","platform_order_id":"W-1","store_ref_id":"s1","items":[
		{"ref_id":"dal","quantity":1,"price":10.25,"options":[{"ref_id":"hot","price":0}]},
		{"ref_id":"naan","quantity":2,"price":2}],"payable_amount":14.25,"charges":[{"title":"Bag","value":1}],
		"customer":{"name":"Kim","phone":"555","address":{"city":"Oslo"}},"instructions":"ring",
		"payment":[{"option":"cash","amount":14.25}]}`
	draft := func(changes ...string) Draft {
		text := body
		for i := 0; i < len(changes); i += 2 {
			require.Contains(t, text, changes[i])
			text = strings.Replace(text, changes[i], changes[i+1], 1)
		}
		decoded, err := Decode([]byte(text))
		require.NoError(t, err)
		return decoded
	}
	placed, err := Place(draft(), PricingContext{Store: Store{ID: 1, RefID: "s1"},
		Platform: core.Platform{Name: "web", ServedBy: core.ServedByMerchant}, Currency: "USD"}, 7,
		time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC))
	require.NoError(t, err)
	stored, err := json.Marshal(&placed)
	require.NoError(t, err)
	placed, err = ReadRelay(stored)
	require.NoError(t, err)
	for want, changes := range map[string][]string{
		"": {},
		"item naan: quantity 2, in the repeat 3; payable_amount: 14.25, in the repeat 16.25": {`"quantity":2`,
			`"quantity":3`,
			`"payable_amount":14.25`, `"payable_amount":16.25`},
		"item dal: price: 10.25, in the repeat 9": {"10.25,", "9,"},
		"item dal: options":                       {`"hot"`, `"mild"`},
		"item rice added; item naan removed":      {`"naan"`, `"rice"`},
		"customer.phone; customer.address":        {`"555"`, `"556"`, "Oslo", "Bergen"},
		"store_ref_id: s1, in the repeat s2; order_type: delivery, in the repeat pickup": {`"s1"`,
			`"s2","order_type":"pickup"`},
		"charges":      {`"value":1`, `"value":2`},
		"payment":      {`"cash"`, `"card"`},
		"instructions": {"ring", "knock"},
	} {
		require.Equal(t, want, Differences(placed, draft(changes...)))
	}
	long := draft(`"dal"`, `"`+strings.Repeat("é", 255)+`"`, `"naan"`, `"`+strings.Repeat("ö", 255)+`"`)
	require.Len(t, []rune(Differences(placed, long)), maxDifferences)
}
