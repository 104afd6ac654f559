package storetest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
)

func TestOrderIsKeptUntilItsChangedDeliveryTime(t *testing.T) {
	h := newFollowUpHarness(t)
	const day = 24 * time.Hour
	later, sooner := h.arrive("D-1", partnerDelivery), h.arrive("D-2", partnerDelivery)
	at := func(after time.Duration) string {
		return fmt.Sprintf(`,"delivery_datetime":%d`, h.clock.Now().Add(after).UnixMilli())
	}
	for ref, times := range map[string][]string{"D-1": {at(4 * day)}, "D-2": {at(4 * day), at(time.Hour)}} {
		for n, more := range times {
			_, err := h.changeWith(ref, fmt.Sprint("c-", n), oneCurry, more)
			require.NoError(t, err)
		}
	}
	left := func() (list []bool) {
		require.NoError(t, orders.New(h.db).DropOld(t.Context(), day))
		for _, id := range []int64{later, sooner} {
			_, err := orders.New(h.db).Get(t.Context(), h.business, "", id)
			require.True(t, err == nil || core.CodeOf(err) == core.NotFound, err)
			list = append(list, err == nil)
		}
		return list
	}
	h.clock.Advance(3 * day)
	require.Equal(t, []bool{true, false}, left())
	h.clock.Advance(3 * day)
	require.Equal(t, []bool{false, false}, left())
}

func TestChangedOrderHasTheLatestPrepTime(t *testing.T) {
	h := newFollowUpHarness(t)
	id := h.arrive("P-1", partnerDelivery)
	change := func(n int) any {
		_, err := h.change("P-1", fmt.Sprint("c-", n), fmt.Sprintf(`{"ref_id":"curry","price":5,"quantity":%d}`, n))
		require.NoError(t, err)
		var body map[string]any
		require.NoError(t, json.Unmarshal(pgtest.EventBodies(t, h.db, core.OrderUpdated)[n-1], &body))
		return hubtest.Lookup(body, "order.details.prep_time")
	}
	require.Nil(t, change(1))
	for n, to := range []order.State{order.Acknowledged, order.Preparing, order.FoodReady} {
		minutes := int64(10 + n)
		moved := order.Change{To: to, PrepMinutes: &minutes}
		if to == order.FoodReady {
			moved.PrepMinutes = nil
		}
		_, err := orders.New(h.db).Change(t.Context(), h.business, id, moved)
		require.NoError(t, err)
	}
	require.Equal(t, 11.0, change(2))
}

func TestLateRepeatOfChangedOrderLeavesNoTrace(t *testing.T) {
	h := newFollowUpHarness(t)
	id := h.arrive("L-1", partnerDelivery)
	const twoCurries, threeCurries = `{"ref_id":"curry","price":5,"quantity":2}`, `{"ref_id":"curry","quantity":3}`
	_, err := h.change("L-1", "c-1", twoCurries)
	require.NoError(t, err)
	for n, items := range []string{oneCurry, twoCurries, threeCurries} {
		again := h.arrival("L-1", "b", items, partnerDelivery).Draft
		require.NoError(t, orders.New(h.db).RecordRepeat(t.Context(), h.business, id, "platform:b", again))
		found, err := consolelists.New(h.db).OrderRepeats(t.Context(), h.business, id)
		require.NoError(t, err)
		require.Len(t, found, n/2, items)
	}
}
