package order

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// shortest returns an order with the required fields, followed by more fields.
func shortest(more string) string {
	return `{"platform":"web","platform_order_id":"W-1","store_ref_id":"s1","items":[{"ref_id":"dal","quantity":1}]` +
		more + `}`
}

func withItem(fields string) string {
	return `{"platform":"web","platform_order_id":"W-1","store_ref_id":"s1","items":[{` + fields + `}]}`
}

func TestDecodeTreatsNullAsNotSent(t *testing.T) {
	const nulls = `,"customer":null,"charges":null,"taxes":null,"discounts":null,"payment":null,"coupon":null,` +
		`"instructions":null,
		"delivery_datetime":null,"order_type":null,"delivery_type":null,"is_bulk_order":null,"order_total":null,` +
		`"ext_id":{"a":[1]}`
	for _, body := range []string{shortest(""), shortest(nulls)} {
		draft, err := Decode([]byte(body))
		require.NoError(t, err)
		one := core.Integer(1)
		require.Equal(t, Draft{Platform: "web", PlatformOrderID: "W-1", StoreRefID: "s1", Kind: ForDelivery,
			Items: []Line{{RefID: "dal", Quantity: &one}}}, draft)
	}
	draft, err := Decode([]byte(shortest(`,"charges":[],"taxes":[]`)))
	require.NoError(t, err)
	require.NotNil(t, draft.Charges, "an empty list was sent")
	require.NotNil(t, draft.Taxes)
}

func TestDecodeReadsEmptyArraysAsObjects(t *testing.T) {
	for _, sent := range []string{`[]`, `{}`, `{"address":[]}`} {
		draft, err := Decode([]byte(shortest(`,"customer":` + sent)))
		require.NoError(t, err, sent)
		require.Empty(t, draft.Customer.Name)
	}
	_, err := Decode([]byte(shortest(`,"customer":{"name":"Ana","address":["Pier 1"]}`)))
	require.ErrorContains(t, err, "customer.address must be an object")
}

func TestDecodeReadsIntegersInEveryNotation(t *testing.T) {
	for sent, want := range map[string]core.Integer{`2`: 2, `"2"`: 2, `2.0`: 2, `2e0`: 2} {
		draft, err := Decode([]byte(withItem(`"ref_id":"dal","quantity":` + sent +
			`,"options":[{"ref_id":"hot","quantity":` + sent + `}]`)))
		require.NoError(t, err, sent)
		require.Equal(t, []core.Integer{want, want},
			[]core.Integer{*draft.Items[0].Quantity, *draft.Items[0].Options[0].Quantity})
	}
	draft, err := Decode([]byte(shortest(`,"delivery_datetime":"1733156700000"`)))
	require.NoError(t, err)
	require.EqualValues(t, 1733156700000, draft.DeliverAt)
	for _, absent := range []string{`0`, `""`, `"0"`} {
		draft, err := Decode([]byte(shortest(`,"delivery_datetime":` + absent + `,"prepare_for":` + absent)))
		require.NoError(t, err, absent)
		require.Zero(t, draft.DeliverAt)
		require.Zero(t, draft.PrepareFor)
	}
}

func TestDecodeReadsNumericIdentifiers(t *testing.T) {
	draft, err := Decode([]byte(`{"platform":"web","platform_order_id":1,"store_ref_id":17,` +
		`"items":[{"ref_id":5,"quantity":1,"options":[{"ref_id":6}]}]}`))
	require.NoError(t, err)
	require.Equal(t, []core.Identifier{"17", "5", "6"},
		[]core.Identifier{draft.StoreRefID, draft.Items[0].RefID, draft.Items[0].Options[0].RefID})
	for sent, want := range map[string]string{`"A-1"`: "A-1", `88014217300000000001`: "88014217300000000001",
		`"007"`: "007", `-5`: "-5"} {
		draft, err := Decode([]byte(strings.Replace(shortest(""), `"W-1"`, sent, 1)))
		require.NoError(t, err, sent)
		require.Equal(t, want, string(draft.PlatformOrderID))
	}
}

func TestDecodeRoundsFloatingPointResidues(t *testing.T) {
	draft, err :=
		Decode([]byte(shortest(`,"discounts":[{"value":5.551115123125783e-17},{"value":-5.551115123125783e-17}],` +
			`"payment":[{"option":"cash","amount":1.4210854715202004e-14}],
		"customer":{"address":{"latitude":-0.00012780000000000402,"longitude":0}}`)))
	require.NoError(t, err)
	require.Equal(t, []string{"0.000000000000000056", "0", "0.000000000000014211", "-0.000127800000000004"}, []string{
		draft.Discounts[0].Value.String(), draft.Discounts[1].Value.String(), draft.Payment[0].Amount.String(),
		draft.Customer.Address.Latitude.String()})
}

func TestNoTotalOfAnOrderMayBeNegative(t *testing.T) {
	for _, total := range []string{"order_subtotal", "total_charges", "total_taxes", "discount", "order_total",
		"payable_amount"} {
		_, err := Decode([]byte(shortest(`,"` + total + `":-1`)))
		require.ErrorContains(t, err, total+" must not be negative")
	}
}

func TestDecodeRejectsInvalidOrders(t *testing.T) {
	long := strings.Repeat("x", 256)
	for _, c := range []struct{ body, message string }{
		{`{}`, "platform is required"},
		{`[]`, "must be an object"},
		{`{"platform":"web"`, "not valid JSON"},
		{strings.Replace(shortest(""), `"W-1"`, `1.5`, 1), "platform_order_id must be a string or a whole number"},
		{strings.Replace(shortest(""), `"W-1"`, `1e3`, 1), "platform_order_id must be a string or a whole number"},
		{strings.Replace(shortest(""), `"W-1"`, `{"a":1}`, 1), "platform_order_id must be a string or a whole number"},
		{strings.Replace(shortest(""), `"W-1"`, `["a"]`, 1), "platform_order_id must be a string or a whole number"},
		{strings.Replace(shortest(""), `"W-1"`, `" "`, 1), "platform_order_id is required"},
		{strings.Replace(shortest(""), `W-1`, long, 1), "platform_order_id must be at most 255 characters long"},
		{strings.Replace(shortest(""), `W-1`, `\u0000`, 1), "NUL"},
		{shortest(`,"platform":"app"`), "given twice"},
		{shortest(`,"order_type":"drive_in"`), "order_type must be one of: delivery, pickup, dine_in"},
		{shortest(`,"delivery_type":"drone"`), "delivery_type must be one of: self, partner"},
		{shortest(`,"is_bulk_order":"yes"`), "is_bulk_order must be true or false"},
		{shortest(`,"delivery_datetime":-1`), "delivery_datetime must be a positive whole number"},
		{shortest(`,"prepare_for":1`), "prepare_for must be a time in epoch milliseconds"},
		{shortest(`,"delivery_datetime":1733156700`), "delivery_datetime must be a time in epoch milliseconds"},
		{shortest(`,"order_total":-1`), "order_total must not be negative"},
		{shortest(`,"order_total":"10"`), "order_total must be a number"},
		{shortest(`,"order_total":1e400`), "at most 15 digits"},
		{shortest(`,"coupon":"` + long + `"`), "coupon must be at most 255"},
		{shortest(`,"customer":{"name":"` + long + `"}`), "customer.name must be at most 255"},
		{shortest(`,"customer":{"address":{"latitude":91}}`),
			"customer.address.latitude must be between -90 and 90 degrees"},
		{shortest(`,"charges":[{"title":"Delivery"}]`), "charges[0]: value is required"},
		{shortest(`,"taxes":[{"title":"","value":1}]`), "taxes[0]: title is required"},
		{shortest(`,"taxes":[{"title":"VAT","rate":-1,"value":1}]`), "taxes[0]: rate must not be negative"},
		{shortest(`,"discounts":[{"value":-1}]`), "discounts[0]: value must not be negative"},
		{shortest(`,"discounts":[{}]`), "discounts[0]: value is required"},
		{shortest(`,"payment":[{"option":"cash"}]`), "payment[0]: amount is required"},
		{shortest(`,"customer":{"address":{"longitude":181}}`),
			"customer.address.longitude must be between -180 and 180 degrees"},
		{withItem(`"ref_id":"dal","quantity":1,"options":[{"ref_id":"hot","price":-1}]`), "price must not be negative"},
		{shortest(`,"payment":[{"amount":1}]`), "payment[0]: option is required"},
		{shortest(`,"payment":[` + strings.Repeat(`{"option":"cash","amount":1},`, 100) +
			`{"option":"cash","amount":1}]`), "payment must have at most 100 elements"},
		{`{"platform":"web","platform_order_id":1,"store_ref_id":"s1"}`, "items must have at least one item"},
		{`{"platform":"web","platform_order_id":1,"store_ref_id":"s1","items":[` + strings.Repeat(`{},`, 500) + `{}]}`,
			"at most 500 items, not 501"},
		{withItem(`"quantity":1`), "items[0]: ref_id is required"},
		{withItem(`"ref_id":1.5,"quantity":1`), "ref_id must be a string or a whole number"},
		{withItem(`"ref_id":"dal"`), `items[0] (ref_id "dal"): quantity is required`},
		{withItem(`"ref_id":"dal","quantity":0`), "quantity must be a whole number from 1 to 100000"},
		{withItem(`"ref_id":"dal","quantity":1.5`), `items[0] (ref_id "dal"): quantity must be a whole number`},
		{withItem(`"ref_id":"dal","quantity":1,"price":-0.01`), "price must not be negative"},
		{withItem(`"ref_id":"dal","quantity":1,"options":[{"ref_id":"hot"},{"quantity":1}]`),
			`items[0] (ref_id "dal"): options[1].ref_id is required`},
		{withItem(`"ref_id":"dal","quantity":1,"options":[{"ref_id":"hot","quantity":0}]`),
			"options[0].quantity must be"},
		{strings.Replace(shortest(""), `{"ref_id":"dal","quantity":1}`, `7`, 1), "items[0]: must be an object"},
	} {
		_, err := Decode([]byte(c.body))
		require.Equal(t, core.Invalid, core.CodeOf(err), "%.200s", c.body)
		require.Contains(t, err.Error(), c.message)
	}
}

func TestDecodeChangeValidatesStatusChanges(t *testing.T) {
	change, err :=
		DecodeChange([]byte(`{"new_status":"food ready","message":"hot","reason_code":"r",` +
			`"extra":{"prep_time_mins":20},"x":1}`))
	require.NoError(t, err)
	twenty := int64(20)
	require.Equal(t, Change{To: FoodReady, Message: "hot", ReasonCode: "r", PrepMinutes: &twenty}, change)
	for extra, minutes := range map[string]*int64{`{"prep_time_mins":"20"}`: &twenty,
		`{"prep_time_mins":20.0}`: &twenty, `[]`: nil, `null`: nil, `{"prep_time_mins":null}`: nil} {
		change, err := DecodeChange([]byte(`{"new_status":"Acknowledged","reason_code":12,"extra":` + extra + `}`))
		require.NoError(t, err, extra)
		require.Equal(t, Change{To: Acknowledged, ReasonCode: "12", PrepMinutes: minutes}, change)
	}
	for body, message := range map[string]string{
		`{"new_status":"Placed","extra":{"prep_time_mins":-1}}`:  "extra.prep_time_mins must be",
		`{"new_status":"Placed","extra":{"prep_time_mins":1.5}}`: "extra.prep_time_mins must be",
		`{"new_status":"Placed","extra":[{"prep_time_mins":1}]}`: "extra must be an object",
		`{"new_status":"Placed","reason_code":{}}`:               "reason_code must be a string or a whole number",
		`{}`: "new_status is required",
		`{"new_status":"Lost"}`: "new_status must be one of: Placed, Acknowledged, Preparing, Food Ready, " +
			"Dispatched, Completed, Cancelled",
		`{"new_status":7}`: "new_status must be a string",
		`{"new_status":"Placed","extra":{"prep_time_mins":1441}}`:               "extra.prep_time_mins must be",
		`{"new_status":"Placed","message":"` + strings.Repeat("x", 2001) + `"}`: "message must be at most 2000",
	} {
		_, err := DecodeChange([]byte(body))
		require.Equal(t, core.Invalid, core.CodeOf(err), body)
		require.Contains(t, err.Error(), message)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, shortest(""),
		withItem(`"ref_id":"dal","quantity":2,"price":1.005,"options":[{"ref_id":"hot","price":0.1}]`),
		shortest(`,"charges":[{"title":"c","value":1}],"taxes":[{"title":"t","rate":5,"value":0.1}],` +
			`"payment":[{"option":"cash","amount":3}]`),
		shortest(`,"customer":{"address":{"latitude":1e17,"longitude":-180}},"delivery_datetime":1733156700000`),
		strings.Repeat(`{"items":`, 500), `{"items":[` + strings.Repeat("[", 3000), "{\"platform\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Add([]byte(withItem(`"ref_id":"dal","quantity":100000,"price":10000000000`))) // the total has 16 digits
	f.Fuzz(func(t *testing.T, body []byte) {
		draft, err := Decode(body)
		if err != nil {
			if core.CodeOf(err) != core.Invalid {
				t.Fatalf("not an Invalid error: %v", err)
			}
			return
		}
		relay, err := Place(draft, PricingContext{Currency: "USD"}, 1, time.Unix(0, 0))
		if err == nil {
			body, failure := json.Marshal(&relay)
			if failure == nil {
				_, failure = ReadRelay(body)
			}
			err = failure
		}
		if err != nil && core.CodeOf(err) != core.Invalid {
			t.Fatalf("not an Invalid error: %v", err)
		}
	})
}
