package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/relay"
)

// reject rejects an order of the platform b.
func (d *riderHarness) reject(id string) {
	d.t.Helper()
	require.NoError(d.t, d.calls.Reject(d.t.Context(), relay.Caller{Business: d.business, Platform: "b"},
		relay.OrderAcknowledgePayload{PlatformOrderID: id, Reason: "no store"}))
}

func TestStoredOrderIsNotRejected(t *testing.T) {
	d := newRiderHarness(t)
	d.order("b", "")
	d.order("web", "")
	d.reject("R-1")
	require.Empty(t, d.claim(me))
	d.reject("R-2") // an order of another platform has this id
	d.reject("R-2")
	calls := d.claim(me)
	require.Len(t, calls, 1, "a rejection waits only once")
	require.Equal(t, []any{d.business, "refusal:b/R-2"}, []any{calls[0].Business, calls[0].OrderingKey})
}
