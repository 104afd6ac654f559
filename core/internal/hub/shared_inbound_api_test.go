package hub

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/plugindir"
	"github.com/servery-hub/servery/core/internal/postgres/aliases"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
)

// sharedURL is the shared URL of the example plugin.
const sharedURL = "/channel/api/v1/shared/deliveroo/callback/events/"

// addBusiness creates another business, whose store s1 is a site.
func (d *deliverooHub) addBusiness(site string) hubtest.Tenant {
	d.t.Helper()
	tenant := hubtest.Business(d.t, d.hub.db)
	require.NoError(d.t, platforms.New(d.hub.db).Set(d.t.Context(), tenant.ID,
		core.Platform{Name: "roo", ServedBy: "deliveroo"}, func(a *relay.Access) error {
			a.Settings = []byte(`{"brand_id":"tasty"}`)
			return nil
		}))
	send := func(method, path, body string) apiResponse {
		return d.do(d.t, request{method: method, path: path, authorization: tenant.Authorization, body: body})
	}
	require.Equal(d.t, 200, send("POST", storesRoute, fmt.Sprintf(`{"stores":[{"ref_id":"s1","name":"N","city":"C",`+
		`"included_platforms":["roo"],"platform_data":[{"name":"roo","platform_store_id":%q}]}]}`, site)).status)
	d.advanceUntil("the store", func() bool { return send("GET", storesRoute+"s1/", "").status == 200 })
	require.Equal(d.t, 200, send("POST", menuRoute+"s1/?wait=10", soup).status)
	return tenant
}

// shared sends a webhook to the shared URL.
func (d *deliverooHub) shared(body string, headers map[string]string) apiResponse {
	d.t.Helper()
	m := marketClient{orderClient: &orderClient{menuClient: d.menuClient}}
	return m.post(sharedURL, "application/json", body, headers)
}

// orderIDs returns the aggregator's ids of the orders of a business.
func (d *deliverooHub) orderIDs(tenant hubtest.Tenant) []string {
	m := marketClient{orderClient: &orderClient{menuClient: d.menuClient}}
	return m.column(fmt.Sprintf(`SELECT platform_order_id FROM orders WHERE business_id = %d ORDER BY 1`, tenant.ID))
}

func TestSharedURLFindsTheBusinessOfARequest(t *testing.T) {
	d := newDeliverooHub(t)
	d.sendMenu("s1", soup)
	other := d.addBusiness("90")
	first := d.market.newOrder("gb:1", "88")
	require.Equal(t, 401, d.shared(first, d.market.sign(first)).status, "the installation has no secret yet")

	require.NoError(t, d.hub.config.Host.Refresh(t.Context(), false))
	dir := plugindir.Dir{Path: t.TempDir(), DB: d.hub.db}
	_, err := dir.Shared(t.Context(), "deliveroo", map[string]string{"client_id": "x"})
	require.ErrorContains(t, err, "verifies no request")
	state, err := dir.Shared(t.Context(), "deliveroo", nil)
	require.NoError(t, err)
	require.Equal(t, plugindir.SharedURL{ID: "deliveroo", Paths: []string{sharedURL}, Secrets: []string{},
		Missing: []string{"webhook_secret"}}, state)
	state, err = dir.Shared(t.Context(), "deliveroo", map[string]string{"webhook_secret": deliverooWebhook})
	require.NoError(t, err)
	require.Equal(t, []any{[]string{"webhook_secret"}, []string{}}, []any{state.Secrets, state.Missing})
	requireNotStored(t, &marketClient{orderClient: &orderClient{menuClient: d.menuClient}}, deliverooWebhook)

	placed := d.shared(first, d.market.sign(first))
	require.Equal(t, 200, placed.status, placed.text)
	second := d.market.newOrder("gb:2", "90")
	require.Equal(t, 200, d.shared(second, d.market.sign(second)).status)
	require.Equal(t, 401, d.shared(second, d.market.sign(first)).status)
	require.Equal(t, []string{"gb:1"}, d.orderIDs(d.tenant))
	require.Equal(t, []string{"gb:2"}, d.orderIDs(other))
	canceled := `{"event":"order.status_update","body":{"order":{"id":"gb:2","location_id":"90","status":"canceled"}}}`
	require.Contains(t, d.shared(canceled, d.market.sign(canceled)).text, "is Cancelled")
}

func TestSharedURLRejectsRequestsOfNoSingleBusiness(t *testing.T) {
	d := newDeliverooHub(t)
	d.sendMenu("s1", soup)
	require.NoError(t, d.hub.config.Host.Refresh(t.Context(), false))
	_, err := plugindir.Dir{Path: t.TempDir(), DB: d.hub.db}.Shared(t.Context(), "deliveroo",
		map[string]string{"webhook_secret": deliverooWebhook})
	require.NoError(t, err)
	d.hub.config.Identity.BaseURL = "https://hub.example"
	d.hub.console = d.hub.newConsole()
	d.hub.mountPages("http://example.com", 0)
	sam := d.user(t, "sam@example.com", access.Admin)
	require.Contains(t, sam.get(t, shell.PluginsPath+"deliveroo/").text, "https://hub.example"+sharedURL)
	rejected := func(body, why string) {
		t.Helper()
		response := d.shared(body, d.market.sign(body))
		requireEnvelope(t, d.parsed(response), 404, "no store takes this request")
		require.NotContains(t, response.text, why)
		shared, err := platforms.NewShared(d.hub.db).SharedInbound(t.Context(), "deliveroo")
		require.NoError(t, err)
		require.Contains(t, shared.Rejection, why)
	}
	rejected(d.market.newOrder("gb:1", "s1"), "no store of a platform that was set up has the id s1")
	rejected(`{"event":"order.new","body":{}}`, "no id of a store")
	require.NoError(t, platforms.New(d.hub.db).SetWithStores(t.Context(), d.tenant.ID,
		core.Platform{Name: "roo-2", ServedBy: "deliveroo"}, func(*relay.Access) error { return nil },
		map[string]string{"s1": "88"}))
	rejected(d.market.newOrder("gb:2", "88"), "stores of several platforms have the id 88")
	require.Empty(t, d.orderIDs(d.tenant))
	shared, err := platforms.NewShared(d.hub.db).SharedInbound(t.Context(), "deliveroo")
	require.NoError(t, err)
	require.Equal(t, int64(3), shared.Unrouted)
	require.Contains(t, d.do(t, request{method: "GET", path: "/metrics"}).text, "servery_callbacks_unrouted_total 3\n")
	m := marketClient{orderClient: &orderClient{menuClient: d.menuClient}}
	const unknown = "/channel/api/v1/shared/elsewhere/callback/events/"
	require.Equal(t, 401, m.post(unknown, "application/json", "{}", nil).status)
}

func TestSharedURLIgnoresClaimsOfOtherBusinesses(t *testing.T) {
	d := newDeliverooHub(t)
	d.sendMenu("s1", soup)
	require.NoError(t, d.hub.config.Host.Refresh(t.Context(), false))
	store, callers := platforms.New(d.hub.db), platforms.NewShared(d.hub.db)
	set := func(tenant hubtest.Tenant) error {
		return store.Set(t.Context(), tenant.ID, core.Platform{Name: "deliveroo", ServedBy: "deliveroo"},
			func(*relay.Access) error { return nil })
	}
	claim := func(tenant hubtest.Tenant, ref, site string) string { return d.claim(tenant, "deliveroo", ref, site) }
	other := hubtest.Business(t, d.hub.db)
	pgtest.Exec(t, d.hub.db, `INSERT INTO platforms (business_id, name, served_by)
		VALUES (?, 'deliveroo', 'deliveroo')`, other.ID) // as a new business gets it
	require.Contains(t, claim(other, "s1", "88"), `"errors":0`, "the plugin has no shared URL yet")
	require.Contains(t, claim(other, "s2", "91"), `"errors":0`)
	_, err := plugindir.Dir{Path: t.TempDir(), DB: d.hub.db}.Shared(t.Context(), "deliveroo",
		map[string]string{"webhook_secret": deliverooWebhook})
	require.NoError(t, err)
	placed := d.market.newOrder("gb:1", "88")
	require.Equal(t, 200, d.shared(placed, d.market.sign(placed)).status)
	require.Equal(t, []string{"gb:1"}, d.orderIDs(d.tenant))
	found, err := callers.SharedPlatforms(t.Context(), "deliveroo", "91")
	require.NoError(t, err)
	require.Empty(t, found, "the platform is not set up")
	require.NoError(t, calls.NewPlugins(d.hub.db).Switch(t.Context(), "deliveroo", true, []aggregator.FilledSettings{
		{Business: other.ID, Platform: "deliveroo", After: []byte(`{"a":1}`)}}, func() error { return nil }))
	found, err = callers.SharedPlatforms(t.Context(), "deliveroo", "91")
	require.NoError(t, err)
	require.Empty(t, found, "an added default sets up nothing")

	require.ErrorContains(t, set(other), `"88" of platform "deliveroo" belongs to another business`)
	second := d.market.newOrder("gb:2", "88")
	require.Equal(t, 200, d.shared(second, d.market.sign(second)).status)
	require.Equal(t, []string{"gb:1", "gb:2"}, d.orderIDs(d.tenant))
	require.Contains(t, claim(other, "s1", ""), `"errors":0`)
	require.NoError(t, set(other))
	found, err = callers.SharedPlatforms(t.Context(), "deliveroo", "91")
	require.NoError(t, err)
	require.Equal(t, []relay.Caller{{Business: other.ID, Platform: "deliveroo"}}, found)
	third := hubtest.Business(t, d.hub.db)
	require.NoError(t, set(third))
	require.Contains(t, claim(third, "s1", "91"),
		`platform_data: the platform_store_id \"91\" of platform \"deliveroo\" belongs to another business: `+
			`ask the operator to remove it there`)
	require.Contains(t, claim(third, "s1", "92"), `"errors":0`)
	require.ErrorContains(t, pgtest.SetPlatformStoreIDs(t.Context(), d.hub.db, third.ID, "deliveroo",
		map[string]string{"s1": "91"}), "belongs to another business")
	require.Contains(t, claim(other, "s2", "91"), `"errors":0`, "its own")
	require.Contains(t, d.claim(third, "later", "s2", "91"), `"errors":0`)
	require.ErrorContains(t, aliases.New(d.hub.db).AddAlias(t.Context(), third.ID,
		core.NewPlatformAlias{Alias: "later", Platform: "deliveroo"}, access.Change{}), "belongs to another business")
}

// claim stores a store with a platform_store_id, and returns the response.
func (d *deliverooHub) claim(tenant hubtest.Tenant, platform, ref, site string) string {
	d.t.Helper()
	return d.do(d.t, request{method: "POST", path: storesRoute + "?wait=10", authorization: tenant.Authorization,
		body: fmt.Sprintf(`{"stores":[{"ref_id":%q,"name":"N","city":"C",
			"platform_data":[{"name":%q,"platform_store_id":%q}]}]}`, ref, platform, site)}).text
}

// newSharedHub returns a hub whose shared URL has its secret, with another business.
func newSharedHub(t *testing.T) (*deliverooHub, hubtest.Tenant) {
	t.Helper()
	d := newDeliverooHub(t)
	d.sendMenu("s1", soup)
	require.NoError(t, d.hub.config.Host.Refresh(t.Context(), false))
	_, err := plugindir.Dir{Path: t.TempDir(), DB: d.hub.db}.Shared(t.Context(), "deliveroo",
		map[string]string{"webhook_secret": deliverooWebhook})
	require.NoError(t, err)
	return d, d.addBusiness("90")
}

func TestInactiveStoreReleasesItsPlatformStoreID(t *testing.T) {
	d, other := newSharedHub(t)
	activate := func(active bool) string {
		return d.do(t, request{method: "POST", path: storesRoute + "?wait=10", authorization: d.tenant.Authorization,
			body: fmt.Sprintf(`{"stores":[{"ref_id":"s1","active":%t}]}`, active)}).text
	}
	place := func(id string) {
		t.Helper()
		order := d.market.newOrder(id, "88")
		require.Equal(t, 200, d.shared(order, d.market.sign(order)).status)
	}
	require.Contains(t, d.claim(other, "roo", "s1", "88"), "belongs to another business")
	place("gb:1")
	require.Contains(t, activate(false), `"errors":0`)
	place("gb:2")
	require.Equal(t, []string{"gb:1", "gb:2"}, d.orderIDs(d.tenant), "no active store has the id")
	require.Contains(t, d.claim(other, "roo", "s1", "88"), `"errors":0`)
	place("gb:3")
	require.Equal(t, []string{"gb:3"}, d.orderIDs(other))
	require.Contains(t, activate(true), "belongs to another business")
	require.NoError(t, pgtest.SetPlatformStoreIDs(t.Context(), d.hub.db, d.tenant.ID, "roo",
		map[string]string{"s1": "88"}),
		"an unchanged id")
	require.NoError(t, pgtest.SetPlatformStoreIDs(t.Context(), d.hub.db, d.tenant.ID, "roo",
		map[string]string{"s1": ""}))
	require.Contains(t, activate(true), `"errors":0`)
}

func TestOneOfTwoConcurrentClaimsSucceeds(t *testing.T) {
	d, other := newSharedHub(t)
	claimed := make(chan error, 1)
	require.NoError(t, d.hub.db.InTx(t.Context(), func(tx bun.Conn) error {
		require.NoError(t, platforms.LockShared(t.Context(), tx, d.tenant.ID, ""))
		_, err := tx.ExecContext(t.Context(), `UPDATE stores SET platform_data = '[{"name":"roo",
			"platform_store_id":"93"}]' WHERE business_id = ? AND ref_id = 's1'`, d.tenant.ID)
		go func() {
			claimed <- pgtest.SetPlatformStoreIDs(t.Context(), d.hub.db, other.ID, "roo", map[string]string{"s1": "93"})
		}()
		d.advanceUntil("the other waits", func() bool {
			var n int
			pgtest.Row(t, d.hub.db, &n, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
			return n == 1
		})
		return err
	}))
	require.ErrorContains(t, <-claimed, "belongs to another business")
}

func TestSharedURLReadsXMLAndHeaders(t *testing.T) {
	m := newMarketClient(t)
	m.ok("POST", storesRoute+"?wait=10",
		`{"stores":[{"ref_id":"s1","platform_data":[{"name":"bazaar","platform_store_id":"77"}]}]}`)
	require.NoError(t, m.hub.config.Host.Refresh(t.Context(), false))
	_, err := plugindir.Dir{Path: t.TempDir(), DB: m.hub.db}.Shared(t.Context(), "market",
		map[string]string{"feed_key": "sharedkeyvalue"})
	require.NoError(t, err)
	const order = `<order id="X-1"><store>%s</store><item>dal</item><count>1</count></order>`
	const path = "/channel/api/v1/shared/market/callback/feed/?key="
	require.Equal(t, 401, m.post(path+"feedkeyvalue", "text/xml", fmt.Sprintf(order, "77"), nil).status,
		"the secret of a platform is not that of the installation")
	placed := m.post(path+"sharedkeyvalue", "text/xml", fmt.Sprintf(order, "77"), nil)
	require.NotContains(t, placed.text, "received a credential")
	require.Equal(t, 404, m.post(path+"sharedkeyvalue", "text/xml", fmt.Sprintf(order, "78"), nil).status)
	routed := m.post(path+"sharedkeyvalue", "text/xml", "<order", map[string]string{"X-Store": "77"})
	require.Equal(t, 400, routed.status, "the header names the store, and the plugin cannot read the body")
	signedIn := m.post("/channel/api/v1/shared/market/callback/signed-in/", "application/json", "{}", nil)
	require.Equal(t, 401, signedIn.status, "the kind is not shared")
}
