package hub

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnsupportedDryRunIsRejected(t *testing.T) {
	d := newMenuClient(t, nil)
	d.ok("POST", storesRoute, oneStore)
	d.awaitCallback(1)
	for _, call := range []request{
		{method: "POST", path: storesRoute, body: `{"stores":[{"ref_id":"tried","name":"T","city":"T"}]}`},
		{method: "POST", path: "/external/api/v1/revisions/01937a3e-9c1b-7cc4-8f0a-52d1c6e0b7aa/rollback/"},
		{method: "POST", path: retryRoute, body: `{}`},
		{method: "PUT", path: "/external/api/v1/orders/10001/", body: `{}`},
	} {
		refused := d.send(call.method, call.path+"?dry_run=true", call.body)
		requireEnvelope(t, refused, 400, "dry_run is not supported by this call")
		require.NotContains(t, refused.header, "Ratelimit-Remaining", "it takes no place of the throttle")
	}
	requireEnvelope(t, d.send("GET", storesRoute+"tried/", ""), 404, "")
	for _, unclear := range []string{"?dry_run", "?dry_run=", "?dry_run=1", "?dry_run=True"} {
		requireEnvelope(t, d.send("POST", menuRoute+"-1/"+unclear, `{"items":[]}`), 400,
			"dry_run must be one of: true, false")
	}
	d.ok("GET", storesRoute+"?dry_run=true", "")
	d.ok("POST", storesRoute+"?dry_run=false", oneStore)
}
