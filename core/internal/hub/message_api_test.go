package hub

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestErrorsNameTheObjectAndTheSentValue(t *testing.T) {
	f := newRelayClient(t, nil)
	id, over := f.order("b", "B-1", `,"delivery_type":"self"`), f.order("web", "W-1", "")
	f.ok("PUT", oneOrder(over)+"status/", `{"new_status":"Completed"}`)
	rider := func(id int64, more string) apiResponse {
		return f.send("POST", riderStatusRoute, fmt.Sprintf(`{"order_id":%d,%s}`, id, more))
	}
	require.Equal(t, 200, rider(over, `"status":"DELIVERED"`).status)
	others := f.order("b", "B-2", `,"delivery_type":"partner"`)
	require.Equal(t, 200, rider(id, `"status":"ASSIGNED","rider_data":{"rider_name":"Asha"}`).status)
	for _, c := range []struct {
		answer        apiResponse
		status        int
		message, path string // "": no message
	}{
		{f.send("PUT", oneOrder(id)+"status/", `{"new_status":"Acknowleged"}`), 400,
			fmt.Sprintf(`order %d: new_status must be one of: Placed, Acknowledged, Preparing, Food Ready, Dispatched,`+
				` Completed, Cancelled (not "Acknowleged")`, id), "new_status"},
		{f.send("PUT", oneOrder(over)+"status/", `{"new_status":"Acknowledged"}`), 409,
			fmt.Sprintf("order %d: the order is Completed and cannot become Acknowledged: Completed is final",
				over), ""},
		{f.send("PUT", oneOrder(id), `{}`), 400, fmt.Sprintf("order %d: reference_id is required", id), "reference_id"},
		{rider(id, `"status":"LOST"`), 400,
			fmt.Sprintf("order %d: status must be one of: ASSIGNED, UNASSIGNED, AT-STORE, OUT-FOR-DELIVERY, "+
				"RIDER-REACHED, DELIVERED, NO-RIDER-FOUND (not \"LOST\")", id), "status"},
		{f.send("POST", riderStatusRoute, fmt.Sprintf(`{"status":["DELIVERED"],"order_id":%d}`, id)), 400,
			fmt.Sprintf("order %d: status must be a string", id), "status"},
		{f.send("POST", riderLocationRoute, fmt.Sprintf(`{"location":5,"order_id":%d}`, id)), 400,
			fmt.Sprintf("order %d: location must be an object", id), "location"},
		{rider(id, `"status":"AT-STORE","rider_data":{"rider_name":"\ud800"}`), 400,
			fmt.Sprintf("order %d: at rider_data.rider_name: the body is not valid JSON", id), "rider_data.rider_name"},
		{rider(id, `"status":"ASSIGNED","rider_data":{"rider_name":"Ravi"}`), 400,
			fmt.Sprintf("order %d: rider_data is not the assigned rider", id), "rider_data"},
		{rider(others, `"status":"ASSIGNED"`), 400,
			fmt.Sprintf("order %d: order_id is not a self-delivery order", others), "order_id"},
		{f.send("POST", riderLocationRoute,
			fmt.Sprintf(`{"order_id":%d,"location":{"latitude":"1","longitude":"2"}}`, others)), 400,
			fmt.Sprintf("order %d: order_id is not a self-delivery order", others), "order_id"},
		{f.postAction("a", fmt.Sprintf(`{"order_id":%d,"action":"rider_with_mask","wearing_mask":true}`, others)), 400,
			fmt.Sprintf("order %d: order_id is an order of the platform b, not of a", others), "order_id"},
		{rider(over, `"status":"ASSIGNED"`), 409, fmt.Sprintf("order %d: ", over), ""},
		{f.send("GET", ordersRoute+"abc/", ""), 404, `id "abc": there is no order with this id`, "id"},
		{f.send("PUT", oneOrder(99)+"status/", `{"new_status":"Completed"}`), 404,
			`id "99": there is no order with this id`, "id"},
		{f.send("GET", ordersRoute+"?state=Lost", ""), 400, ` (not "Lost")`, "state"},
		{f.send("GET", deliveriesRoute+"?state=lost", ""), 400,
			`state must be one of: pending, held, delivered, failed (not "lost")`, "state"},
		{f.send("GET", deliveriesRoute+"nonsense/", ""), 404, `id "nonsense": there is no delivery with this id`, "id"},
		{f.send("GET", storesRoute+"s%209/", ""), 404, `ref_id "s 9": there is no store with this ref_id`, "ref_id"},
		{f.send("GET", webhooksRoute+"x/", ""), 404, `webhook_id "x": there is no webhook with this id`, "webhook_id"},
		{f.send("GET", "/external/api/v1/jobs/x/", ""), 404, `reference "x": there is no job with this reference`,
			"reference"},
		{f.sendAsChannel("POST", channelOrdersRoute,
			`{"platform":"webx","platform_order_id":"1","store_ref_id":"s1","items":[{"ref_id":"dal","quantity":1}]}`),
			404, `platform "webx": there is no platform with this name`, "platform"},
		{f.sendAsChannel("POST", channelOrdersRoute,
			`{"platform":"web","platform_order_id":"1","store_ref_id":"s1","order_type":"post",`+
				`"items":[{"ref_id":"dal","quantity":1}]}`), 400,
			`order_type must be one of: delivery, pickup, dine_in (not "post")`, "order_type"},
	} {
		requireEnvelope(t, c.answer, c.status, c.message)
		if c.path == "" {
			require.NotContains(t, c.answer.body, "errors")
			continue
		}
		require.Equal(t, c.path, hubtest.Lookup(c.answer.body["errors"].([]any)[0], "path"), c.answer.text)
	}
}
