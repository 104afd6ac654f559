package postgres_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
)

func TestChangeWithTooManyFlagsIsStored(t *testing.T) {
	h := newFollowUpHarness(t)
	id := h.arrive("F-1", partnerDelivery)
	options := strings.Repeat(`,{"ref_id":"x","price":1}`, 500)[1:]
	line := `,{"ref_id":"curry","quantity":1,"price":5,"options":[` + options + `]}`
	_, err := h.change("F-1", "c-1", strings.Repeat(line, 66)[1:])
	require.NoError(t, err)
	var flags int
	pgtest.Row(t, h.db, &flags, `SELECT flags FROM orders WHERE business_id = ? AND id = ?`, h.business, id)
	require.Equal(t, math.MaxInt16, flags)
}

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
