package order

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
)

func TestOutOfStockReportsAcceptRealPOSForms(t *testing.T) {
	for body, want := range map[string]OutOfStockReport{
		`{"order_upipr_id":10001,"allow_edit":true,"items_oos":[{"upipr_id":null,"ref_id":"dal"}],"note":1}`: {
			OrderID: 10001, AllowEdit: true, Items: []OutOfStockItem{{0, "dal"}}},
		`{"order_upipr_id":"10001","order_ref_id":null,"allow_edit":null,"items_oos":[{"upipr_id":"7"}]}`: {
			OrderID: 10001, Items: []OutOfStockItem{{7, ""}}},
		`{"order_upipr_id":"","order_ref_id":"P-1","items_oos":[{"upipr_id":"","ref_id":"dal"}]}`: {
			Reference: "P-1", Items: []OutOfStockItem{{0, "dal"}}},
		`{"order_upipr_id":"10001.0","order_ref_id":"","items_oos":[{"upipr_id":7.0,"ref_id":""}]}`: {
			OrderID: 10001, Items: []OutOfStockItem{{7, ""}}},
		`{"order_ref_id":4471,"items_oos":[{"ref_id":12,"extra":{}}]}`: {
			Reference: "4471", Items: []OutOfStockItem{{0, "12"}}},
		`{"order_ref_id":1,"items_oos":[null,{"ref_id":"dal"},null]}`: {
			Reference: "1", Items: []OutOfStockItem{{0, "dal"}}, positions: []int{1}},
	} {
		got, err := DecodeOutOfStockReport([]byte(body))
		require.NoError(t, err, body)
		require.Equal(t, want, got)
	}
}

func TestEmptyOutOfStockReportsAreRejected(t *testing.T) {
	for body, message := range map[string]string{
		`{"items_oos":[{"ref_id":"dal"}]}`: "order_upipr_id or " +
			"order_ref_id is required",
		`{"order_upipr_id":0,"items_oos":[{"ref_id":"dal"}]}`: "order_upipr_id or " +
			"order_ref_id is required",
		`{"order_upipr_id":1}`: "items_oos must have at least one item",
		`{"order_upipr_id":1,"items_oos":[{"ref_id":"dal"},{"ref_id":null}]}`: "items_oos[1]: ref_id is required",
		`{"order_upipr_id":1,"items_oos":[null,{"ref_id":"dal"},null,{}]}`:    "items_oos[3]: ref_id is required",
		`{"order_upipr_id":1,"items_oos":[null,{"ref_id":"dal"},7]}`:          "items_oos[2]: must be an object",
		`{"order_upipr_id":1,"items_oos":[null]}`:                             "items_oos must have at least one item",
		`{"order_upipr_id":1,"items_oos":[7]}`:                                "items_oos[0]: must be an object",
		`{"order_upipr_id":1,"allow_edit":"yes","items_oos":[]}`: "allow_edit must be " +
			"true or false",
		`{"order_upipr_id":1,"items_oos":[` + strings.Repeat(`{"ref_id":"x"},`, 500) +
			`{}]}`: "at most 500 items, not 501",
		`{"order_ref_id":"` + strings.Repeat("x", 256) +
			`","items_oos":[{"ref_id":"dal"}]}`: "order_ref_id must be at most 255",
		`{"order_upipr_id":1,"items_oos":[{"ref_id":"dal","upipr_id":-2}]}`: `items_oos[0] ` +
			`(ref_id "dal"): upipr_id must be a positive`,
	} {
		_, err := DecodeOutOfStockReport([]byte(body))
		require.Equal(t, core.Invalid, core.CodeOf(err), body)
		require.Contains(t, err.Error(), message)
	}
}

func TestReportedItemsMustBelongToTheOrder(t *testing.T) {
	placed := Relay{Order: Body{Items: []Item{
		{ID: 3, RefID: "dal", Options: []Option{{ID: 5, RefID: "hot"}, {ID: 6, RefID: "dal"}}},
		{RefID: "secret"},
	}}}
	s := OutOfStockReport{Items: []OutOfStockItem{{0, "hot"}, {3, ""}, {99, "dal"}, {0, "secret"}}}
	require.NoError(t, s.Resolve(placed, Acknowledged))
	require.Equal(t, []OutOfStockItem{{5, "hot"}, {3, "dal"}, {3, "dal"}, {0, "secret"}}, s.Items)
	items, options := s.RefIDs(placed)
	require.Equal(t, [][]string{{"dal", "secret"}, {"hot"}}, [][]string{items, options})
	s = OutOfStockReport{Items: []OutOfStockItem{{6, ""}}}
	require.NoError(t, s.Resolve(placed, Acknowledged))
	items, options = s.RefIDs(placed)
	require.Equal(t, [][]string{nil, {"dal"}}, [][]string{items, options}, "an option with the ref_id of an item")

	s = OutOfStockReport{Items: []OutOfStockItem{{0, "dal"}, {0, "naan"}, {8, ""}}}
	err := s.Resolve(placed, Placed)
	require.Equal(t, core.Invalid, core.CodeOf(err))
	require.EqualError(t, err, `items_oos[1] (ref_id "naan"): the order has no such item (and 1 more)`)
	require.EqualError(t, (&OutOfStockReport{Items: []OutOfStockItem{{8, ""}}}).Resolve(placed, Placed),
		"items_oos[0]: upipr_id 8: the order has no such item")
	s, err = DecodeOutOfStockReport([]byte(`{"order_upipr_id":1,"items_oos":[null,{"ref_id":"naan"}]}`))
	require.NoError(t, err)
	require.EqualError(t, s.Resolve(placed, Placed), `items_oos[1] (ref_id "naan"): the order has no such item`)
	for _, state := range []State{Completed, Cancelled} {
		require.Equal(t, core.Conflict, core.CodeOf(s.Resolve(placed, state)))
	}
}

func TestOutOfStockOutcomeIsPublished(t *testing.T) {
	o := OutOfStockOutcome{Subject: Subject{OrderID: 10001, Platform: "x", EventAlias: "a", PlatformOrderID: "A-1",
		StoreRefID: "s1"}, Reference: core.ID{6: 0x70, 8: 0x80},
		OrderRef: "P-1", StoreID: 4, StoreName: "Main",
		Success: true, Message: "asked", Phone: "+14155550199", Pin: "4471"}
	body, err := o.Event()
	require.NoError(t, err)
	eventtest.Check(t, core.OrderItemsOOSProcessed, body)
	require.JSONEq(t,
		`{"success":true,"reference_id":"00000000-0000-7000-8000-000000000000","platform":"a",`+
			`"upipr_order_id":10001,"ref_order_id":"P-1",
		"platform_order_id":"A-1","store":{"id":4,"name":"Main"},"data":{"message":"asked",`+
			`"customer_masked_number":"+14155550199","pin":"4471"}}`, string(body))
}

func TestReferenceIsAStringOrANumber(t *testing.T) {
	for body, want := range map[string]string{`{"reference_id":"P-1","x":null}`: "P-1", `{"reference_id":42}`: "42"} {
		got, err := DecodeReference([]byte(body))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, body := range []string{`{}`, `{"reference_id":null}`, `{"reference_id":" "}`, `{"reference_id":1.5}`,
		`{"reference_id":"` + strings.Repeat("x", 256) + `"}`} {
		_, err := DecodeReference([]byte(body))
		require.Equal(t, core.Invalid, core.CodeOf(err), body)
		require.Contains(t, err.Error(), "reference_id")
	}
}
