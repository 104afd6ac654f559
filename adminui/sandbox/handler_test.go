package sandbox

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

func TestRetriedDeliveriesAreLinkedInAnyState(t *testing.T) {
	v := &shell.PageContext{Business: core.Business{ID: 7}}
	causes := deliveryCauses(v, console.ScenarioRun{Deliveries: console.ScenarioDeliveries{Failed: 1, Retried: 2}})
	require.Equal(t, "/console/b/7/deliveries/?event=order_placed&state=failed", causes[0].Link.Href)
	require.Equal(t, "/console/b/7/deliveries/?event=order_placed", causes[1].Link.Href, "held, or delivered by now")
}
