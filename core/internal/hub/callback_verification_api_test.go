package hub

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

func TestSignedAggregatorRequestNeedsNoKey(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "aggregator-a", "../../../plugins/aggregatora")
	d := newMenuClientAt(t, newPluginAPI(t, dir, unlimited))
	neighbour := hubtest.Business(t, d.hub.db)
	for business, secret := range map[core.BusinessID]string{d.tenant.ID: "ours", neighbour.ID: "theirs"} {
		require.NoError(t, platforms.New(d.hub.db).Set(t.Context(), business,
			core.Platform{Name: "tasty", ServedBy: "aggregator-a"}, func(a *relay.Access) error {
				a.Secrets["webhook_secret"] = secret
				return nil
			}))
	}
	const order = `{"event":"order.created","order":{"id":"A-1","outlet_reference":"s1","fulfilment":"delivery",` +
		`"delivered_by":"merchant",
		"customer":{"name":"Ann","phone":"4155550100"},"lines":[{"sku":"dal","name":"Dal","qty":1,` +
		`"unit_price":"9.50"}],"payments":[]}}`
	call := func(business any, platform, signature string) apiResponse {
		return d.do(t, request{method: "POST",
			path: fmt.Sprintf("/channel/api/v1/%s/callback/orders/?business=%v", platform, business), body: order,
			headers: map[string]string{"X-Signature": signature}})
	}
	sign := func(secret string) string {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(order))
		return hex.EncodeToString(mac.Sum(nil))
	}
	taken := call(d.tenant.ID, "tasty", sign("ours"))
	require.Equal(t, 200, taken.status, taken.text)
	require.Equal(t, "order accepted", taken.message())

	const refusal = "does not prove that it comes from this platform"
	requireEnvelope(t, call(d.tenant.ID, "tasty", ""), 401, refusal)
	requireEnvelope(t, call(d.tenant.ID, "tasty", sign("theirs")), 401, refusal)
	requireEnvelope(t, call(neighbour.ID, "tasty", sign("ours")), 401, refusal)
	requireEnvelope(t, call(d.tenant.ID, "aggregator-a", sign("")), 401, refusal)
	requireEnvelope(t, call(d.tenant.ID, "web", sign("ours")), 401, refusal)
	requireEnvelope(t, call(1<<40, "tasty", sign("ours")), 401, refusal)
	requireEnvelope(t, call("x", "tasty", sign("ours")), 400, "business must be the id")
	requireEnvelope(t, call("", "tasty", sign("ours")), 401, "callback key")
}
