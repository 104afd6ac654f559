package rejections

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/order"
)

func TestPendingRejectionsAreBounded(t *testing.T) {
	var pending pendingRejections
	for n := range 2 * maxPendingRejections {
		pending.add(order.Rejection{Business: 1, Platform: fmt.Sprint(n), PlatformOrderID: "1"}, 1)
	}
	require.Len(t, pending.list, maxPendingRejections+1)
	require.EqualValues(t, maxPendingRejections, pending.list[maxPendingRejections].times)
}
