package hub

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

// newAcceptance returns a client with a plugin that reads orders, whose orders on platform a are accepted by the given
// party.
func newAcceptance(t *testing.T, accept relay.Accept) *relayClient {
	t.Helper()
	f := newRelayClient(t, nil)
	f.agent.mu.Lock()
	f.agent.orders = true
	f.agent.mu.Unlock()
	f.accept(accept)
	return f
}

func (f *relayClient) accept(accept relay.Accept) {
	f.t.Helper()
	require.NoError(f.t, platforms.New(f.hub.db).Set(context.Background(), f.tenant.ID,
		core.Platform{Name: "a", ServedBy: "aggregator-a"}, func(a *relay.Access) error {
			a.Accept = accept
			return nil
		}))
}

func (f *relayClient) move(id int64, body string) apiResponse {
	f.t.Helper()
	return f.ok("PUT", oneOrder(id)+"status/", body)
}

// timestampPattern matches the time of a change in a relayed payload.
var timestampPattern = regexp.MustCompile(`,"at":\d+`)

// relayedCalls returns the next calls to the aggregator: kind and payload.
func (f *relayClient) relayedCalls(from, n int) (calls []string) {
	f.t.Helper()
	f.awaitAggregatorRequest(from + n)
	for _, arrival := range f.aggregator.Arrivals()[from:] {
		calls = append(calls, arrival.Path+" "+timestampPattern.ReplaceAllString(string(arrival.Body), ""))
	}
	return calls
}

func TestPOSAcceptanceIsSentToThePlatform(t *testing.T) {
	f := newAcceptance(t, relay.AcceptPOS)
	for n, c := range []struct {
		moves    []string
		reported []string
	}{
		{[]string{`{"new_status":"Acknowledged","extra":{"prep_time_mins":20}}`},
			[]string{`/order_acknowledge/A-0 {"accepted":true,"prep_minutes":20}`}},
		{[]string{`{"new_status":"Acknowledged"}`, `{"new_status":"Acknowledged","extra":{"prep_time_mins":30}}`,
			`{"new_status":"Acknowledged","extra":{"prep_time_mins":30}}`, `{"new_status":"Acknowledged"}`},
			[]string{`/order_acknowledge/A-1 {"accepted":true}`,
				`/order_status/A-1 {"status":"Acknowledged","prep_minutes":30}`}},
		{[]string{`{"new_status":"Food Ready"}`},
			[]string{`/order_acknowledge/A-2 {"accepted":true}`, `/order_status/A-2 {"status":"Food Ready"}`}},
		{[]string{`{"new_status":"Cancelled","message":"no rice","reason_code":"item_out_of_stock"}`},
			[]string{`/order_acknowledge/A-3 {"accepted":false,"reason":"no rice","reason_code":"item_out_of_stock"}`}},
		{[]string{`{"new_status":"Acknowledged"}`,
			`{"new_status":"Cancelled","message":"no rice","reason_code":"item_out_of_stock"}`}, []string{
			`/order_acknowledge/A-4 {"accepted":true}`,
			`/order_status/A-4 {"status":"Cancelled","message":"no rice","reason_code":"item_out_of_stock"}`}},
	} {
		before := len(f.aggregator.Arrivals())
		id := f.order("a", fmt.Sprint("A-", n), "")
		for _, move := range c.moves {
			f.move(id, move)
		}
		require.Equal(t, c.reported, f.relayedCalls(before, len(c.reported)))
	}
}

func TestOrderIsAcceptedOnceByHubOrPOS(t *testing.T) {
	f := newAcceptance(t, relay.AcceptHub)
	first := f.order("a", "A-1", "")
	require.Equal(t, []string{`/order_acknowledge/A-1 {"accepted":true}`}, f.relayedCalls(0, 1),
		"as soon as it is stored")
	f.accept(relay.AcceptPOS)
	second := f.order("a", "A-2", "")
	f.accept(relay.AcceptHub)
	f.move(first, `{"new_status":"Acknowledged","extra":{"prep_time_mins":20}}`)
	require.Equal(t, []string{`/order_status/A-1 {"status":"Acknowledged","prep_minutes":20}`}, f.relayedCalls(1, 1),
		"the hub has accepted it")
	f.move(second, `{"new_status":"Acknowledged"}`)
	require.Equal(t, []string{`/order_acknowledge/A-2 {"accepted":true}`}, f.relayedCalls(2, 1),
		"nobody has accepted it yet")
}

func TestChangedPreparationTimeIsASeparateStatusUpdate(t *testing.T) {
	f := newAcceptance(t, relay.AcceptHub)
	updates := hubtest.NewEventSink(t, nil)
	f.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"order_status_update","url":%q}`, updates.URL))
	id := f.order("web", "W-1", "")
	f.move(id, `{"new_status":"Acknowledged","extra":{"prep_time_mins":20}}`)
	for _, c := range []struct{ minutes, says string }{{"20", "a preparation time of 20 minutes"},
		{"35", "a preparation time of 35 minutes"}, {"35", "35 minutes"}} {
		require.Contains(t, f.move(id,
			fmt.Sprintf(`{"new_status":"Acknowledged","extra":{"prep_time_mins":%s}}`, c.minutes)).message(), c.says)
	}
	require.Contains(t, f.move(id, `{"new_status":"Acknowledged"}`).message(), "nothing changed")
	history := f.ok("GET", oneOrder(id), "").body["history"].([]any)
	require.Len(t, history, 3)
	require.Equal(t, []any{20.0, 35.0},
		[]any{hubtest.Lookup(history[1], "prep_time_mins"), hubtest.Lookup(history[2], "prep_time_mins")})
	events := func() []hubtest.Arrival { return updates.Distinct(webhook.HeaderID) }
	f.waitAdvancing(t, "both updates", func() bool { return len(events()) == 2 })
	require.Contains(t, string(events()[1].Body), `"prev_state":"Acknowledged","new_state":"Acknowledged"`)
}
