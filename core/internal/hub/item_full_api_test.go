package hub

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestItemSwitchCanHaveAllUnavailableItems(t *testing.T) {
	l := newLinkClient(t, func(int, string) (int, string) { return 200, `{}` })
	l.ok("POST", menuRoute+"s1/", `{"items":[{"ref_id":"pie","title":"Pie","price":3},
		{"ref_id":"gone","title":"Gone","price":3,"current_stock":0},
		{"ref_id":"away","title":"Away","price":3,"included_platforms":["web"],"available":false}]}`)
	l.awaitCallback(3)
	for n, c := range [][2]string{
		{`"item_ref_ids":["dal"],"action":"disable"`, "/unavailable/items=dal+gone/options="},
		{`"option_ref_ids":["hot"],"action":"disable"`, "/unavailable/items=dal+gone/options=hot"},
		{`"item_ref_ids":["pie"],"action":"disable"`, "/unavailable/items=dal+gone+pie/options=hot"},
		{`"item_ref_ids":["dal","pie"],"action":"enable"`, "/unavailable/items=gone/options=hot"},
	} {
		l.ok("POST", itemsRoute, `{"location_ref_id":"s1",`+c[0]+`}`)
		hubtest.WaitUntil(t, "the request", func() bool {
			l.clock.advanceToWork(20 * time.Millisecond)
			return len(l.seen()) > n
		})
		require.Equal(t, c[1], strings.TrimSpace(l.seen()[n]))
	}
}
