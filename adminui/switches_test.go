package adminui_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/relay"
)

func TestStorePageShowsThatOpeningFailed(t *testing.T) {
	f := fullHub()
	f.stores[0].Timings, f.stores[0].SpecialTimings = nil, nil
	f.published[0].PublishedAt = minutesAgo(30) // an old menu
	opening := console.Call{ID: idAt(73), Kind: string(relay.StoreAction), Platform: "aggregator-a",
		Payload: []byte(`{"enable":true}`), State: string(relay.Failed), CreatedAt: minutesAgo(2),
		FinishedAt: minutesAgo(2), Message: "the aggregator responded with 401 Unauthorized"}
	f.storeCalls = append(f.storeCalls, opening)
	base := serveConsole(t, f)
	client := adminClient(t, base)
	_, page := getPage(t, client, base+shell.Root+"b/7/stores/1040/")
	require.Contains(t, page, "Opening the store on aggregator-a failed")
	require.Contains(t, page, "/b/7/calls/"+opening.ID.String()+"/")
	require.Contains(t, page, "Opening not confirmed")
	require.Contains(t, page, "Menu on aggregator-a: The platform shows the menu of")
	require.NotContains(t, page, "Live on aggregator-a")
	require.NotContains(t, page, "accepts orders on aggregator-a")
}
