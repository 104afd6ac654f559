package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// TestDocumentedPOSExampleWorks runs the example of a POS from the guides, also when it is throttled.
func TestDocumentedPOSExampleWorks(t *testing.T) {
	needsPrograms(t, "python3")
	env := onDatabase(hubtest.HubDatabaseURL(t)).With("SERVERY_PLUGIN_DIR", openDir(t),
		"SERVERY_LIMIT_WEBHOOKS", "5/4s", "SERVERY_LIMIT_MENU", "1/1s")
	hub := startHub(t, env)
	who := newAPIClientIn(t, env, "CA")
	shop := newKey(t, env, who.business, "channel")
	program, err := filepath.Abs(filepath.Join(root, "deploy/examples/pos.py"))
	require.NoError(t, err)
	address := fmt.Sprint("127.0.0.1:", hubtest.Port(t))
	dir := t.TempDir()
	pos := func(more ...string) *hubtest.Process {
		t.Helper()
		run := hubtest.NewProcess("python3", environment{"BASE": hub.URL, "LISTEN": address, "ORDERS": "2",
			"KEY": strings.TrimPrefix(who.authorization, "apikey ")}.With(more...), "-u", program)
		run.Cmd.Dir = dir
		run.Start(t)
		run.AwaitOutput(t, regexp.MustCompile(`(?m)^(open for orders)$`))
		return run
	}
	for turn := range 2 {
		var tax []string
		if turn == 1 { // everything exists, the secrets are lost, and another client has used up the limit
			require.NoError(t, os.Remove(filepath.Join(dir, "pos-secrets.json")))
			tax = []string{"TAX", "GST_P,GST,5"}
			for hubtest.Call(t, "GET", hub.URL+"/external/api/v1/webhooks/", who.authorization,
				nil).Status != http.StatusTooManyRequests {
			}
		}
		till := pos(tax...)
		var orders []int64
		for n := range 2 {
			placed := hubtest.Call(t, "POST", hub.URL+"/channel/api/v1/orders/", shop.authorization, fmt.Sprintf(
				`{"platform":"web","platform_order_id":"W-%d-%d","store_ref_id":"P-1","items":[{"ref_id":"dal",`+
					`"quantity":2,"options":[{"ref_id":"hot","quantity":1}]}]}`, turn, n))
			require.Equal(t, 200, placed.Status, "%s", placed.Body)
			orders = append(orders, int64(placed.Object(t)["order_id"].(float64)))
		}
		status, printed := till.Wait(), till.Out.String()+till.Err.String()
		require.Zero(t, status, printed)
		require.Contains(t, printed, "subscribed to store_platform_status", "the last of all events")
		require.Contains(t, printed, "enable /hub/api/v1/location/", "what was switched off is on again")
		require.Equal(t, turn == 1, strings.Contains(printed, "webhooks/bulk/: again in"),
			"one request is within the throttle, and it waits where it is throttled\n%s", printed)
		for _, id := range orders {
			order := hubtest.Call(t, "GET", fmt.Sprintf("%s/external/api/v1/orders/%d/", hub.URL, id),
				who.authorization, nil).Object(t)
			require.Equal(t, "Completed", order["state"])
			require.Contains(t, order["reference_id"], "TILL-")
		}
	}
	menu := hubtest.Call(t, "GET", hub.URL+"/channel/api/v1/stores/P-1/menu/?platform=web", who.authorization,
		nil).Object(t)
	require.Len(t, menu["items"], 2, "the flush took the third from the store")
	require.Len(t, menu["taxes"], 1)
}
