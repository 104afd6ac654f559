package adminui_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/relay"
)

func TestFetchesAndReportsOfItemsHaveNames(t *testing.T) {
	f := fullHub()
	for i, kind := range []relay.Kind{relay.InboundFetch, relay.ItemsOOS} {
		f.calls = append(f.calls, console.Call{ID: idAt(6 - i), Kind: string(kind), Platform: "aggregator-a",
			State: string(relay.Waiting), CreatedAt: minutesAgo(6 - i)})
	}
	base := serveConsole(t, f)
	_, page := getPage(t, adminClient(t, base), base+shell.Root+"b/7/calls/")
	require.Contains(t, page, ">Fetch of an order from aggregator-a<")
	require.Contains(t, page, ">Report of items out of stock to aggregator-a<")
}

func TestCallSaysThatItWaitsForAnother(t *testing.T) {
	f := fullHub()
	later := console.Call{ID: idAt(6), Kind: string(relay.RiderStatus), Platform: "aggregator-a",
		Payload: []byte(`{"status":"DELIVERED"}`), State: string(relay.Waiting), EarlierWaits: true,
		CreatedAt: minutesAgo(6)}
	f.calls = append(f.calls, later)
	base := serveConsole(t, f)
	client := adminClient(t, base)
	const explained = "Waiting: an earlier call about the same order or store must end first."
	for path, words := range map[string]string{
		"calls/":                                  "waiting for an earlier call",
		"calls/" + later.ID.String() + "/":        explained,
		fmt.Sprintf("orders/%d/", f.orders[0].ID): explained,
	} {
		_, page := getPage(t, client, base+shell.Root+"b/7/"+path)
		require.Contains(t, page, words, path)
	}
}
