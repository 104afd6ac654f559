package hub

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestDeliveriesAreFoundByOrderAndTime(t *testing.T) {
	c := newRetryClient(t, nil)
	c.status.Store(200)
	c.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"order_status_update","url":%q}`, c.orders.URL))
	c.place("1")
	c.clock.Advance(time.Second)
	between := c.clock.Now()
	c.place("2")
	list := func(query string) []any { return c.ok("GET", deliveriesRoute+query, "").body["deliveries"].([]any) }
	hubtest.WaitUntil(t, "both orders",
		func() bool { return len(list("?state=delivered&event_type=order_placed")) == 2 })
	second, first := list("?event_type=order_placed")[0], list("?event_type=order_placed")[1]
	order := fmt.Sprint(hubtest.Lookup(first, "order_id"))
	c.ok("PUT", "/external/api/v1/orders/"+order+"/status/", `{"new_status":"Acknowledged"}`)
	hubtest.WaitUntil(t, "the step", func() bool { return len(list("?state=delivered&order_id="+order)) == 2 })
	require.NotEqual(t, hubtest.Lookup(first, "order_id"), hubtest.Lookup(second, "order_id"))
	require.Equal(t, []any{"order_status_update", "order_placed"},
		[]any{hubtest.Lookup(list("?order_id=" + order)[0], "event_type"),
			hubtest.Lookup(list("?order_id=" + order)[1], "event_type")})
	require.Len(t, list(fmt.Sprintf("?order_id=%v", hubtest.Lookup(second, "order_id"))), 1)
	require.Empty(t, list("?order_id=77"))
	require.Empty(t, list("?reference=other&order_id="+order))
	require.Equal(t, first, list(fmt.Sprintf("?event_type=order_placed&to=%d", between.UnixMilli()))[0])
	require.Len(t, list(fmt.Sprintf("?event_type=order_placed&to=%d", between.UnixMilli())), 1)
	require.Equal(t, []any{second}, list(fmt.Sprintf("?event_type=order_placed&from=%d", between.UnixMilli())))

	again := func(filter string) any {
		return c.ok("POST", deliveriesRoute+"retry/?dry_run=true",
			`{"filter":{"state":"delivered",`+filter+`}}`).body["count"]
	}
	require.Equal(t, 2.0, again(`"order_id":`+order))
	require.Equal(t, 1.0, again(`"event_type":18,"order_id":"`+order+`"`))
	require.Equal(t, 0.0, again(`"order_id":77`))

	one := c.ok("GET", deliveriesRoute+hubtest.Lookup(first, "id").(string)+"/", "")
	var sent any
	require.NoError(t, json.Unmarshal(c.orders.Arrivals()[0].Body, &sent))
	require.Equal(t, sent, one.body["body"])
	require.Contains(t, one.text, string(c.orders.Arrivals()[0].Body), "to the letter")
	for _, query := range []string{"?order_id=0", "?order_id=x", "?from=yesterday", "?to=-1"} {
		requireEnvelope(t, c.send("GET", deliveriesRoute+query, ""), 400, "must be")
	}
	for _, path := range []string{deliveriesRoute + "?from", ordersRoute + "?to", revisionsRoute + "?from",
		"/external/api/v1/inventory/locations/s1/items/dal/at/?platform=web&time"} {
		requireEnvelope(t, c.send("GET", fmt.Sprintf("%s=%d", path, between.Unix()), ""), 400,
			"must be a time in epoch milliseconds")
	}
}
