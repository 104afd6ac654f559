package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// TestDocumentedPOSExampleWorks runs the example of a POS from the guides, also when it is throttled.
func TestDocumentedPOSExampleWorks(t *testing.T) {
	needsPrograms(t, "python3")
	env := onDatabase(hubtest.HubDatabaseURL(t)).with("SERVERY_PLUGIN_DIR", openDir(t),
		"SERVERY_LIMIT_WEBHOOKS", "5/4s", "SERVERY_LIMIT_MENU", "1/1s")
	hub := startHub(t, env)
	who := newAPIClientIn(t, env, "CA")
	shop := newKey(t, env, who.business, "channel")
	program, err := filepath.Abs(filepath.Join(root, "deploy/examples/pos.py"))
	require.NoError(t, err)
	address := fmt.Sprint("127.0.0.1:", hubtest.Port(t))
	dir := t.TempDir()
	pos := func(more ...string) (wait func() string) {
		t.Helper()
		stdout := newOutputLog(regexp.MustCompile(`^(open for orders)$`))
		run := exec.CommandContext(t.Context(), "python3", "-u", program)
		run.Dir, run.Stdout, run.Stderr = dir, stdout, stdout
		run.Env = slices.Concat(os.Environ(),
			[]string{"BASE=" + hub.url, "KEY=" + strings.TrimPrefix(who.authorization, "apikey "), "LISTEN=" + address,
				"ORDERS=2"}, more)
		require.NoError(t, run.Start())
		ended := make(chan error, 1)
		go func() { ended <- run.Wait() }()
		select {
		case <-stdout.found:
		case err := <-ended:
			require.FailNow(t, "the POS ended", "%v\n%s", err, stdout)
		}
		return func() string {
			require.NoError(t, <-ended, stdout)
			return stdout.String()
		}
	}
	for turn := range 2 {
		var tax []string
		if turn == 1 { // everything exists, the secrets are lost, and another client has used up the limit
			require.NoError(t, os.Remove(filepath.Join(dir, "pos-secrets.json")))
			tax = []string{"TAX=GST_P,GST,5"}
			for hubtest.Call(t, "GET", hub.url+"/external/api/v1/webhooks/", who.authorization,
				nil).Status != http.StatusTooManyRequests {
			}
		}
		wait := pos(tax...)
		var orders []int64
		for n := range 2 {
			placed := hubtest.Call(t, "POST", hub.url+"/channel/api/v1/orders/", shop.authorization, fmt.Sprintf(
				`{"platform":"web","platform_order_id":"W-%d-%d","store_ref_id":"P-1","items":[{"ref_id":"dal",`+
					`"quantity":2,"options":[{"ref_id":"hot","quantity":1}]}]}`, turn, n))
			require.Equal(t, 200, placed.Status, "%s", placed.Body)
			orders = append(orders, int64(placed.Object(t)["order_id"].(float64)))
		}
		stdout := wait()
		require.Contains(t, stdout, "enable /hub/api/v1/location/", "what was switched off is on again")
		require.Equal(t, turn == 1, strings.Contains(stdout, "webhooks/bulk/: again in"),
			"one request is within the throttle, and it waits where it is throttled\n%s", stdout)
		for _, id := range orders {
			order := hubtest.Call(t, "GET", fmt.Sprintf("%s/external/api/v1/orders/%d/", hub.url, id),
				who.authorization,
				nil).Object(t)
			require.Equal(t, "Completed", order["state"])
			require.Contains(t, order["reference_id"], "TILL-")
		}
	}
	menu := hubtest.Call(t, "GET", hub.url+"/channel/api/v1/stores/P-1/menu/?platform=web", who.authorization,
		nil).Object(t)
	require.Len(t, menu["items"], 2, "the flush took the third from the store")
	require.Len(t, menu["taxes"], 1)
}
