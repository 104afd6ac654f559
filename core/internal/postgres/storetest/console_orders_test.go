package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/order"
)

func TestConsoleFindsAllDeliveriesOfAnOrder(t *testing.T) {
	d := newRiderHarness(t)
	hubtest.SubscribeSeconds(t, d.db, d.business, core.RiderStatusUpdate, "https://pos.example.com/")
	id := d.order("web", "")
	for n := range 70 {
		status := order.Assigned
		if n%2 == 1 {
			status = order.Unassigned
		}
		d.clock.Advance(time.Second)
		require.NoError(t, d.send(id, status, order.Rider{}))
	}
	list, err := consolelists.New(d.db).DeliveriesOfOrder(t.Context(), d.business, id)
	require.NoError(t, err)
	require.Len(t, list, 70)
}
