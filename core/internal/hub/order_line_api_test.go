package hub

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/plugintest"
)

// mirrorClient is a business with the platform mirror. Its plugin translates a request to its own content, and sends
// each call of the hub to the aggregator.
type mirrorClient struct {
	*orderClient
	aggregator *hubtest.Sink
	sam        *browser
}

func newMirrorClient(t *testing.T) *mirrorClient {
	t.Helper()
	dir := t.TempDir()
	installtest.Plugin(t, dir, "mirrored", "./testdata/mirrored")
	a := newPluginAPI(t, dir, func(c *Config) { unlimited(c); c.Roles = append(c.Roles, RoleConsole) })
	m := &mirrorClient{newOrderClientAt(newMenuClientAt(t, a)), hubtest.NewSink(t, nil), nil}
	m.hub.mountPages("http://example.com", 0)
	m.sam = m.user(t, "sam@example.com", access.Admin)
	require.NoError(t, platforms.New(m.hub.db).Set(t.Context(), m.tenant.ID,
		core.Platform{Name: "mirror", ServedBy: "mirrored"}, func(a *relay.Access) error {
			a.BaseURLs = map[string]string{"api": strings.TrimSuffix(m.aggregator.URL, "/hook")}
			a.Secrets = map[string]string{"webhook_key": "the-webhook-key"}
			a.Accept = relay.AcceptPOS
			return nil
		}))
	return m
}

// event sends a translation.
func (m *mirrorClient) event(body string) apiResponse {
	m.t.Helper()
	market := marketClient{orderClient: m.orderClient} // which signs nothing
	return market.post(
		fmt.Sprintf("/channel/api/v1/mirror/callback/events/?business=%d", m.tenant.ID), "application/json", body,
		map[string]string{"X-Key": "the-webhook-key"})
}

// call waits for the n-th call and returns it.
func (m *mirrorClient) call(n int) (path string, call map[string]any) {
	m.t.Helper()
	m.waitAdvancing(m.t, "a call", func() bool { return len(m.aggregator.Arrivals()) >= n })
	arrival := m.aggregator.Arrivals()[n-1]
	require.NoError(m.t, json.Unmarshal(arrival.Body, &call))
	return arrival.Path, call
}

const nestedOrder = `{"order":{"platform_order_id":%q,"store_ref_id":"s1","display_id":"A-7",` +
	`"prepare_for":"1795262400000","cutlery":true,"items":[{"ref_id":"dal","quantity":"2","line_id":"L-1","options":[` +
	`{"ref_id":"hot","line_id":"L-2"},{"ref_id":"extra","price":"1","line_id":"L-3","parent":0}]}]}}`

func (m *mirrorClient) placed(id string) int64 {
	m.t.Helper()
	taken := m.event(fmt.Sprintf(nestedOrder, id))
	require.Equal(m.t, 200, taken.status, taken.text)
	var stored struct {
		ID int64 `json:"order_id"`
	}
	require.NoError(m.t, json.Unmarshal([]byte(taken.text), &stored))
	return stored.ID
}

// element returns an element of a JSON array.
func element(list any, n int) any { return list.([]any)[n] }

func TestMirrorPluginPassesTheSuite(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "mirrored", "./testdata/mirrored")
	plugintest.Run(t, plugintest.Subprocess(filepath.Join(dir, "mirrored", "mirrored"), ""), plugintest.Options{})
}

func TestLineIDsReachPluginAndPOS(t *testing.T) {
	m := newMirrorClient(t)
	id := m.placed("N-1")
	event := m.awaitOrderEvents(1)[0]
	line := element(hubtest.Lookup(event, "order.items"), 0)
	nested := element(hubtest.Lookup(line, "options_to_add"), 1)
	require.Equal(t, []any{"A-7", float64(1795262400000), true, "L-1", "L-3", float64(0)}, []any{
		hubtest.Lookup(event, "order.details.display_id"), hubtest.Lookup(event, "order.details.prepare_for"),
		hubtest.Lookup(event, "order.details.cutlery"), hubtest.Lookup(line, "line_id"),
		hubtest.Lookup(nested, "line_id"), hubtest.Lookup(nested, "parent")})

	page := m.sam.get(t, shell.BusinessLink(m.tenant.ID, fmt.Sprintf("orders/%d/", id))).text
	for _, shown := range []string{"A-7", "line L-1", "+ + extra", "line L-3"} {
		require.Contains(t, page, shown)
	}

	m.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Acknowledged"}`)
	m.ok("POST", "/hub/api/v1/orders/items-oos/", fmt.Sprintf(
		`{"order_upipr_id":%d,"items_oos":[{"ref_id":"dal"}]}`, id))
	items := []any{map[string]any{"ref_id": "dal", "line_id": "L-1", "quantity": 2.0, "options": []any{
		map[string]any{"ref_id": "hot", "line_id": "L-2", "quantity": 1.0},
		map[string]any{"ref_id": "extra", "line_id": "L-3", "quantity": 1.0}}}}
	for n, want := range []string{"/acknowledge", "/items-oos"} {
		path, call := m.call(n + 1)
		require.Equal(t, want, path)
		require.Equal(t, items, hubtest.Lookup(call, "order.items"), path)
	}
}

func TestRejectionNamesItsItems(t *testing.T) {
	m := newMirrorClient(t)
	id := m.placed("N-2")
	refused := m.send("PUT", oneOrder(id)+"status/", `{"new_status":"Acknowledged","items_oos":[{"ref_id":"dal"}]}`)
	require.Equal(t, 400, refused.status)
	require.Contains(t, refused.text, "items_oos is only for the status Cancelled")

	m.ok("PUT", oneOrder(id)+"status/",
		`{"new_status":"Cancelled","items_oos":[{"ref_id":"dal"}],"items_invalid":[{"ref_id":"extra"}]}`)
	path, call := m.call(1)
	require.Equal(t, []any{"/acknowledge", []any{"dal"}, []any{"extra"}, "L-1"}, []any{path,
		call["out_of_stock_ref_ids"], call["invalid_ref_ids"],
		hubtest.Lookup(element(hubtest.Lookup(call, "order.items"), 0), "line_id")})
	event := m.awaitOrderEvents(2)[1]
	require.Equal(t, "dal", hubtest.Lookup(element(hubtest.Lookup(event, "additional_info.items_oos"), 0),
		"ref_id"))
	history := m.ok("GET", oneOrder(id), "").body["history"].([]any)
	require.Equal(t, "extra", hubtest.Lookup(element(hubtest.Lookup(history[1], "items_invalid"), 0), "ref_id"))
}
