package hub

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/web"
)

// The document must state the default throttles.
func TestOpenAPIStatesTheDefaultThrottles(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromData(web.OpenAPI())
	require.NoError(t, err)
	limits, reported := Defaults().Limits, map[web.Limit]bool{web.LimitOrders: true} // off by default
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			if said, throttled := operation.Extensions["x-rate-limit"].(map[string]any); throttled {
				name := web.Limit(strings.TrimPrefix(said["setting"].(string), "SERVERY_LIMIT_"))
				require.Equal(t, []any{float64(limits[name].Count), limits[name].Per.Seconds(),
					limits[name].Block.Seconds()},
					[]any{said["limit"], said["window_seconds"], said["block_seconds"]}, "%s %s", method, path)
				reported[name] = true
			}
		}
	}
	require.Len(t, reported, len(limits))
}

// Toggling stores must not use up the limit of order reports, and the reverse.
func TestOperationsHaveSeparateThrottles(t *testing.T) {
	s := newOrderClient(t, func(c *Config) {
		for _, name := range []web.Limit{web.LimitSwitches, web.LimitOrderUpdates, web.LimitOperations} {
			c.Limits[name] = limit.Rule{Count: 2, Per: time.Minute, Block: time.Minute}
		}
	})
	for _, calls := range [][]request{
		{
			{method: "POST", path: locationRoute, body: `{"location_ref_id":"s1","action":"enable"}`},
			{method: "POST", path: itemsRoute,
				body: `{"location_ref_id":"s1","item_ref_ids":["dal"],"action":"enable"}`},
		}, {
			{method: "PUT", path: oneOrder(1), body: `{"reference_id":"P"}`},
			{method: "PUT", path: oneOrder(1) + "status/", body: `{"new_status":"Completed"}`},
			{method: "POST", path: itemsOOSRoute, body: `{"order_upipr_id":1,"items_oos":[{"ref_id":"dal"}]}`},
			{method: "PUT", path: itemsOOSRoute, body: `{"order_upipr_id":1,"items_oos":[{"ref_id":"dal"}]}`},
		},
	} {
		for n := range 3 {
			c := calls[n%len(calls)]
			response := s.send(c.method, c.path, c.body)
			require.Equal(t, "2", response.header.Get("RateLimit-Limit"), c.path)
			require.Equal(t, n == 2, response.status == 429, "%s: %s", c.path, response.text)
		}
		for _, c := range calls {
			requireEnvelope(t, s.send(c.method, c.path, c.body), 429, "too many")
		}
	}
	require.Equal(t, 200, s.send("POST", timingsRoute,
		`{"timing_groups":[{"title":"x","category_ref_ids":[]}]}`).status)
}

func TestAggregatorCallbacksAreThrottledByPlatform(t *testing.T) {
	f := newRelayClientWith(t, func(c *Config) {
		c.Limits[web.LimitCallbacks] = limit.Rule{Count: 3, Per: time.Minute}
	},
		nil)
	for _, platform := range []string{"a", "b"} {
		key := f.newCallbackKey(platform)
		require.Equal(t, 401, f.callBack(platform, "action", "Bearer wrong", `{}`).status)
		for n := range 4 {
			sent := f.callBack(platform, "action", "Bearer "+key, `{}`)
			require.Equal(t, n == 3, sent.status == 429, "%s: %s", platform, sent.text)
			require.Equal(t, "3", sent.header.Get("RateLimit-Limit"))
		}
	}
	require.Equal(t, 401, f.callBack("a", "action", "Bearer wrong", `{}`).status)
	for _, platform := range []string{"a", "b"} {
		sent := f.callBack(platform, "action", "Bearer wrong", `{}`)
		requireEnvelope(t, sent, 429, "too many requests, at most 3")
	}
}

func TestAggregatorBodiesAreBoundedBeforeAuthentication(t *testing.T) {
	f := newRelayClient(t, nil)
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, err := zip.Write(bytes.Repeat([]byte(" "), order.MaxBody+1))
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	message := fmt.Sprintf("larger than %d bytes", order.MaxBody)
	path := "/channel/api/v1/a/callback/order/"
	requireEnvelope(t, f.do(t,
		request{method: "POST", path: path, body: packed.String(),
			headers: map[string]string{"Content-Encoding": "gzip"}}), 413, message)
	require.Equal(t, 401, f.do(t, request{method: "POST", path: path, body: strings.Repeat(" ", order.MaxBody)}).status)
}
