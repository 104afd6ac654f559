package compat

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A C# point of sale expects 100-continue, writes decimals with trailing zeros, and sends every property of its
// classes, null or not.
var csharpPOS = map[string]string{"Expect": "100-continue", "Content-Type": "application/json; charset=utf-8"}

// moving.md, What clients send: webhook headers that every delivery has are ignored. Another value is rejected.
func TestCSharpPOSSendsTheUsualHeadersAlong(t *testing.T) {
	c := newClient(t, csharpPOS)
	create := func(headers string) string {
		return fmt.Sprintf(`{"active":true,"event_type":"store_creation","url":%q,"headers":{%s},`+
			`"retrial_interval_units":"seconds","webhook_id":null}`, c.receiver.url, headers)
	}
	for _, usual := range []string{`"content-type":"application/json"`,
		`"Content-Type":"application/json; charset=utf-8"`,
		`"CONTENT-TYPE":"Application/JSON;charset=UTF-8","X-Event-Type":"store_creation","X-Event-Type-Id":"60014"`,
		`"Content-Type":null`} {
		id := c.ok("POST", webhooksPath, create(usual+`,"X-Pos-Token":"till-7"`)).get("webhook_id").number()
		kept := c.ok("GET", fmt.Sprintf("%s%v/", webhooksPath, id), "").get("headers")
		require.Equal(t, map[string]any{"X-Pos-Token": "till-7"}, kept.is, usual)
	}
	for other, names := range map[string]string{
		`"Content-Type":"text/xml"`:                         "headers.Content-Type",
		`"Content-Type":"application/json; charset=latin1"`: "headers.Content-Type",
		`"Content-Length":"5"`:                              "headers.Content-Length",
		`"X-Event-Type":"order_placed"`:                     "headers.X-Event-Type",
		`"X-Event-Type-Id":"18"`:                            "headers.X-Event-Type-Id",
		`"Host":"pos.example.com"`:                          "headers.Host",
	} {
		c.refused("POST", webhooksPath, create(other), names)
	}
	reference := c.ok("POST", storesPath, `{"stores":[{"ref_id":"10","name":"Pier",`+
		`"city":"Oakland"}]}`).get("reference")
	got := c.awaitDelivery("store_creation", func(v value) bool { return v.get("reference").is == reference.is })
	require.Equal(t, []string{"till-7"}, got.header["X-Pos-Token"])
	require.Equal(t, []string{"application/json"}, got.header["Content-Type"])
	require.Equal(t, []string{"60014"}, got.header["X-Event-Type-Id"])
}

// csharpOrder contains what a C# serializer reads. It fails on a null in a type without null.
type csharpOrder struct {
	ID        int64
	Subtotal  float64
	PrepTime  *int64
	Coupon    string
	Created   int64
	ItemNames []string
}

func readCSharpOrder(v value) csharpOrder {
	details := v.get("order.details")
	read := csharpOrder{ID: int64(details.get("id").number()), Subtotal: details.get("order_subtotal").number(),
		Coupon: details.get("coupon").text(), Created: int64(details.get("created").number())}
	if prep := details.get("prep_time"); prep.is != nil {
		minutes := int64(prep.number())
		read.PrepTime = &minutes
	}
	for _, item := range v.get("order.items").list() {
		read.ItemNames = append(read.ItemNames, item.get("title").text())
	}
	return read
}

// moving.md, What receivers read: texts are empty and never null, so that types without null can hold them.
func TestCSharpPOSReadsAnOrder(t *testing.T) {
	c := newClient(t, csharpPOS)
	c.stores("10")
	callback := c.applied("10", `{"flush_items":null,"categories":null,"items":[{"ref_id":"A-1","title":"Espresso",`+
		`"price":3.50,"external_price":null,"description":null,"weight":30.00,"sold_at_store":true,"available":true,`+
		`"sort_order":0,"serves":null,"current_stock":-1,"category_ref_ids":null,"food_type":"1","recommended":false,`+
		`"images":null,"img_url":null,"translations":null,"tags":null,"included_platforms":null,`+
		`"platform_pricing":null,`+
		`"key_value_groups":null,"clear_option_groups":null}],"option_groups":null,"options":null,"taxes":null,`+
		`"charges":null}`)
	require.Empty(t, warnings(callback))
	require.Empty(t, warnings(callback.get("items.0")))
	c.subscribe("order_placed")
	id := c.place(`{"platform":"app","platform_order_id":"A-1","store_ref_id":"10","coupon":null,"customer":null,` +
		`"items":[{"ref_id":"A-1","quantity":2,"price":3.50,"title":null,"options":null}],"payment":null}`)
	read := readCSharpOrder(c.placed(id))
	require.Equal(t, csharpOrder{ID: id, Subtotal: 7, Created: read.Created, ItemNames: []string{"Espresso"}}, read)
	r := c.exchange(http.MethodPut, order(id, "status/"), `{"new_status":"Food Ready","message":null,"extra":null}`,
		map[string]string{"Authorization": "ApiKey " + c.pos[len("apikey "):]})
	require.Equal(t, http.StatusOK, r.status, r.text)
}
