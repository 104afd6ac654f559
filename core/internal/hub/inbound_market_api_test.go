package hub

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/plugintest"
)

// syncBuffer collects the log of concurrent writers.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// marketClient is a business with the platform bazaar, served by the plugin market.
type marketClient struct {
	*orderClient
	log *syncBuffer
}

func newMarketClient(t *testing.T) *marketClient {
	t.Helper()
	dir := t.TempDir()
	installtest.Plugin(t, dir, "market", "../../pluginhost/testdata/market")
	a := newPluginAPI(t, dir, unlimited)
	m := &marketClient{newOrderClientAt(newMenuClientAt(t, a)), &syncBuffer{}}
	m.hub.server.Log = slog.New(slog.NewTextHandler(m.log, nil))
	require.NoError(t, platforms.New(m.hub.db).Set(t.Context(), m.tenant.ID,
		core.Platform{Name: "bazaar", ServedBy: "market"}, func(a *relay.Access) error {
			a.Secrets = map[string]string{"signing_key": "s3cret", "feed_key": "feedkeyvalue"}
			return nil
		}))
	return m
}

func TestMarketPluginPassesTheSuite(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "market", "../../pluginhost/testdata/market")
	plugintest.Run(t, plugintest.Subprocess(filepath.Join(dir, "market", "market"), ""), plugintest.Options{})
}

func (m *marketClient) path(kind string) string {
	return fmt.Sprintf("/channel/api/v1/bazaar/callback/%s/?business=%d", kind, m.tenant.ID)
}

// post sends a request whose response may be that of the plugin.
func (m *marketClient) post(path, contentType, body string, headers map[string]string) apiResponse {
	m.t.Helper()
	sent := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	sent.Header.Set("Content-Type", contentType)
	for name, value := range headers {
		sent.Header.Set(name, value)
	}
	response, err := m.hub.server.App.Test(sent, -1)
	require.NoError(m.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(m.t, err)
	return apiResponse{status: response.StatusCode, header: response.Header, text: string(text)}
}

// sign returns the headers of a form at a time, as the marketplace signs it.
func (m *marketClient) sign(form string, at time.Time, nonce string) map[string]string {
	path, _, _ := strings.Cut(m.path("events"), "?")
	stamp := at.UTC().Format(time.RFC3339)
	mac := hmac.New(sha512.New, []byte("s3cret"))
	fmt.Fprintf(mac, "POST\n%s\n%d\n%s\n%s\n%s", path, m.tenant.ID, stamp, nonce, form)
	return map[string]string{"X-Market-Signature": "v2:" + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
		"X-Market-Time": stamp, "X-Market-Nonce": nonce}
}

// event sends a signed form with a nonce.
func (m *marketClient) event(nonce string, fields ...string) apiResponse {
	m.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	body := form.Encode()
	return m.post(m.path("events"), "application/x-www-form-urlencoded", body,
		m.sign(body, m.hub.db.Clock().Now(), nonce))
}

func (m *marketClient) requireOrders(want int) {
	m.t.Helper()
	require.Len(m.t, m.ok("GET", ordersRoute, "").body["orders"], want)
}

func TestSignedFormsCarryEveryKindOfMessage(t *testing.T) {
	m := newMarketClient(t)
	order := []string{"type", "order", "id", "M-1", "store", "s1", "item", "dal", "count", "2"}
	placed := m.event("n-1", order...)
	require.Equal(t, 202, placed.status, placed.text)
	require.Equal(t, "application/json", placed.header.Get("Content-Type"))
	require.Equal(t, "nosniff", placed.header.Get("X-Content-Type-Options"))
	var id int64
	_, err := fmt.Sscanf(placed.text, `{"ref":"%d"}`, &id)
	require.NoError(t, err, placed.text)
	require.Contains(t, m.ok("GET", oneOrder(id), "").text, `"M-1"`)
	m.requireOrders(1)

	pinged := m.event("n-2", "type", "ping")
	require.Equal(t, []any{410, "gone", "text/plain"},
		[]any{pinged.status, pinged.text, pinged.header.Get("Content-Type")})
	queued := m.send("POST", fmt.Sprintf(actionRoute, "bazaar"),
		fmt.Sprintf(`{"order_id":%d,"action":"fetch_customer_data"}`, id))
	require.Equal(t, 200, queued.status, queued.text)
	outcome := m.event("n-4", "type", "outcome", "id", "M-1", "phone", "4155550100", "change", "c-1", "store", "s1",
		"item", "dal", "count", "5")
	require.Equal(t, []any{200, `{"seen":true}`}, []any{outcome.status, outcome.text})
	require.Equal(t, "4155550100", hubtest.Lookup(m.ok("GET",
		fmt.Sprintf("/external/api/v1/actions/%s/", queued.body["reference"]), "").body, "customer_phone"))
	items := hubtest.Lookup(m.ok("GET", oneOrder(id), "").body, "order.items").([]any)
	require.Equal(t, 5.0, hubtest.Lookup(items[0], "quantity"), "the outcome has also changed the order")
	unknown := m.event("n-5", "type", "outcome", "id", "M-9")
	require.Equal(t, 404, unknown.status, unknown.text)
	require.NotContains(t, unknown.text, "seen", "a failure is never answered with the plugin's response")

	cancelled := m.event("n-3", "type", "cancel", "id", "M-1")
	require.Equal(t, 200, cancelled.status)
	require.Contains(t, cancelled.text, "is Cancelled", "the hub's own response, because the plugin has none")
	failed := m.event("n-6", "type", "order", "id", "M-2", "store", "nowhere", "item", "dal", "count", "1")
	require.Equal(t, 404, failed.status, failed.text)
	require.NotContains(t, failed.text, `"ref"`)
	refused := m.event("n-7", "type", "order", "id", "M-3", "store", "s1", "item", "dal", "count", "many")
	require.Equal(t, 400, refused.status)
	require.Contains(t, refused.text, "count must be a number")
	require.Equal(t, []string{"M-2", "M-3"}, m.rejectedOrders(), "an unreadable outcome is no rejected order")
	m.requireOrders(1)

	leak := m.event("n-8", "type", "leak", "id", "M-4", "store", "s1", "item", "dal", "count", "1")
	require.Equal(t, 200, leak.status)
	requireNoLeak(t, "the response", leak.text)
	require.Contains(t, leak.text, "order accepted", "only the reply is lost")
	require.NoError(t, m.hub.config.Host.Refresh(t.Context(), false))
	causes, err := calls.NewPlugins(m.hub.db).Causes(t.Context(), "market")
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(causes), "the body has a stack or a source position")
}

// column returns the texts of a query.
func (m *marketClient) column(query string) (list []string) {
	m.t.Helper()
	rows, err := m.hub.db.Bun().QueryContext(m.t.Context(), query)
	require.NoError(m.t, err)
	defer rows.Close()
	for rows.Next() {
		var text string
		require.NoError(m.t, rows.Scan(&text))
		list = append(list, text)
	}
	require.NoError(m.t, rows.Err())
	return list
}

// rejectedOrders returns the platform's ids of the rejected orders.
func (m *marketClient) rejectedOrders() []string {
	m.t.Helper()
	return m.column(`SELECT platform_order_id FROM rejected_orders ORDER BY platform_order_id`)
}

func TestMultipartFormReachesThePlugin(t *testing.T) {
	m := newMarketClient(t)
	var body strings.Builder
	form := multipart.NewWriter(&body)
	for _, field := range [][2]string{{"type", "order"}, {"id", "M-1"}, {"store", "s1"}, {"item", "dal"},
		{"note", strings.Repeat("x", 100<<10)}, {"count", "2"}} {
		require.NoError(t, form.WriteField(field[0], field[1]))
	}
	require.NoError(t, form.Close())
	signed := m.sign(body.String(), m.hub.db.Clock().Now(), "n-1")
	placed := m.post(m.path("events"), form.FormDataContentType(), body.String(), signed)
	require.Equal(t, 202, placed.status, placed.text)
	broken := strings.Replace(strings.Replace(body.String(), "M-1", "M-2", 1), "\r\n2\r\n", "\r\nmany\r\n", 1)
	signed = m.sign(broken, m.hub.db.Clock().Now(), "n-2")
	require.Equal(t, 400, m.post(m.path("events"), form.FormDataContentType(), broken, signed).status)
	require.Equal(t, []string{"M-2"}, m.rejectedOrders())
}

// brokenIntake fails at each order, as a hub without its database.
type brokenIntake struct{}

func (brokenIntake) Place(context.Context, order.PlaceRequest) (order.PlaceResult, error) {
	return order.PlaceResult{}, errors.New("the connection is lost")
}

func TestFailedHubNeverSendsThePluginsReply(t *testing.T) {
	m := newMarketClient(t)
	const form, media = "count=1&id=M-1&item=dal&store=s1&type=order", "application/x-www-form-urlencoded"
	signed := m.sign(form, m.hub.db.Clock().Now(), "n-1")
	working := m.hub.server.Desk.Intake
	m.hub.server.Desk.Intake = brokenIntake{}
	failed := m.post(m.path("events"), media, form, signed)
	require.Equal(t, 500, failed.status)
	require.NotContains(t, failed.text, `"ref"`)
	require.Empty(t, failed.header.Get("Content-Security-Policy"))
	m.hub.server.Desk.Intake = working
	require.Equal(t, 202, m.post(m.path("events"), media, form, signed).status, "the same request, with its nonce")
	m.requireOrders(1)
}

// panickingIntake panics at each order.
type panickingIntake struct{}

func (panickingIntake) Place(context.Context, order.PlaceRequest) (order.PlaceResult, error) {
	panic("out of range")
}

func TestNonceIsFreeAfterCallbackPanic(t *testing.T) {
	m := newMarketClient(t)
	const form, media = "count=1&id=M-1&item=dal&store=s1&type=order", "application/x-www-form-urlencoded"
	signed := m.sign(form, m.hub.db.Clock().Now(), "n-1")
	working := m.hub.server.Desk.Intake
	m.hub.server.Desk.Intake = panickingIntake{}
	require.Equal(t, 500, m.post(m.path("events"), media, form, signed).status)
	m.hub.server.Desk.Intake = working
	require.Equal(t, 202, m.post(m.path("events"), media, form, signed).status, "the same request, with its nonce")
}

func TestRepeatedCallbackParameterIsInvalid(t *testing.T) {
	m := newMarketClient(t)
	const form, media = "count=1&id=M-1&item=dal&store=s1&type=order", "application/x-www-form-urlencoded"
	now := m.hub.db.Clock().Now()
	other := fmt.Sprintf("&business=%d", m.tenant.ID+1)
	for _, added := range []string{other, "&a=1&a=1", "&a&%61="} {
		response := m.post(m.path("events")+added, media, form, m.sign(form, now, "n-1"))
		require.Equal(t, 400, response.status, added)
		require.Contains(t, response.text, "only once")
	}
	require.Equal(t, 202, m.post(m.path("events")+"&a=1&b=1&", media, form, m.sign(form, now, "n-1")).status)
	m.requireOrders(1)
}

func TestReplayedOrAlteredFormIsRefused(t *testing.T) {
	m := newMarketClient(t)
	const form = "count=1&id=M-1&item=dal&store=s1&type=order"
	const media = "application/x-www-form-urlencoded"
	now := m.hub.db.Clock().Now()
	signed := m.sign(form, now, "n-1")
	send := func(body string, headers map[string]string) apiResponse {
		t.Helper()
		m.clock.Advance(time.Second) // the reason of one rejection a second is logged
		return m.post(m.path("events"), media, body, headers)
	}
	without := func(name string) map[string]string {
		headers := m.sign(form, now, "n-1")
		delete(headers, name)
		return headers
	}
	for code, response := range map[string]apiResponse{
		relay.CodeCredentialWrong:   send(form+"0", signed),
		relay.CodeCredentialMissing: send(form, without("X-Market-Signature")),
		relay.CodeTimestampInvalid:  send(form, without("X-Market-Time")),
		relay.CodeNonceMissing:      send(form, without("X-Market-Nonce")),
		relay.CodeTimestampOutside:  send(form, m.sign(form, now.Add(-time.Hour), "n-1")),
	} {
		require.Equal(t, 401, response.status, code)
		require.NotContains(t, response.text, code, "the sender does not read why")
		require.Contains(t, m.log.String(), code)
	}
	m.requireOrders(0)
	require.Equal(t, 202, send(form, signed).status, "a refused request uses no nonce")
	replayed := send(form, signed)
	require.Equal(t, 409, replayed.status, replayed.text)
	require.Contains(t, replayed.text, "already accepted (nonce_replayed)")
	require.Equal(t, 202, send(form, m.sign(form, now, "n-2")).status, "a repeated order has a nonce of its own")
	m.requireOrders(1)

	unknown := strings.NewReplacer("M-1", "M-2", "s1", "s9").Replace(form)
	failing := m.sign(unknown, now, "n-3")
	require.Equal(t, 404, send(unknown, failing).status)
	m.ok("POST", storesRoute, `{"stores":[{"ref_id":"s9","name":"N","city":"C","included_platforms":["bazaar"]}]}`)
	hubtest.WaitUntil(t, "the store is there",
		func() bool { return m.send("GET", storesRoute+"s9/", "").status == 200 })
	require.NotEqual(t, 409, send(unknown, failing).status, "a failed request may be resent as it was")
}

func TestQueryKeyIsNeitherPassedNorLogged(t *testing.T) {
	m := newMarketClient(t)
	const order = `<?xml version="1.0" encoding="ISO-8859-1"?><order id="X-1"><store>s1</store><item>dal</item>` +
		`<count>1</count></order>`
	with := func(key string) string { return m.path("feed") + "&key=" + key }
	placed := m.post(with("feedkeyvalue"), "text/xml", order, nil)
	require.Equal(t, 201, placed.status, placed.text)
	require.Equal(t, "application/xml; charset=utf-8", placed.header.Get("Content-Type"))
	require.Regexp(t, `<receipt><order>\d+</order></receipt>`, placed.text)
	require.Equal(t, 401, m.post(with("wrongkeyvalue"), "text/xml", order, nil).status)
	require.Equal(t, 401, m.post(m.path("feed"), "text/xml", order, map[string]string{"key": "feedkeyvalue"}).status)

	broken := strings.Replace(order, "<count>1", "<count>few", 1)
	require.Equal(t, 400, m.post(with("feedkeyvalue"), "text/xml", strings.Replace(broken, "X-1", "X-2", 1),
		nil).status)
	require.Equal(t, 400,
		m.post(with("feedkeyvalue"), "text/xml", "<order", map[string]string{"X-Order": "X-3"}).status)
	require.Equal(t, []string{"X-2", "X-3"}, m.rejectedOrders(), "from the body, else from the header")
	require.Contains(t, m.log.String(), "credential_wrong")
	for _, secret := range []string{"feedkeyvalue", "wrongkeyvalue"} {
		require.NotContains(t, m.log.String(), secret)
		requireNotStored(t, m, secret)
	}
}

// requireNotStored fails if a table of the hub has a text.
func requireNotStored(t *testing.T, m *marketClient, text string) {
	t.Helper()
	tables := m.column(`SELECT quote_ident(table_name) FROM information_schema.tables
		WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`)
	require.NotEmpty(t, tables)
	for _, table := range tables {
		found := m.column(fmt.Sprintf(`SELECT '' FROM %s AS r WHERE r::text LIKE '%%%s%%'`, table, text))
		require.Empty(t, found, table)
	}
}

func TestTokenIsVerifiedByTheFetchedKeySet(t *testing.T) {
	m := newMarketClient(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k1"}}})
	require.NoError(t, err)
	keys := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/keys.json" {
			w.WriteHeader(404)
		}
		_, _ = w.Write(set)
	}))
	t.Cleanup(keys.Close)
	configure := func(address, settings string) {
		require.NoError(t, platforms.New(m.hub.db).Set(t.Context(), m.tenant.ID,
			core.Platform{Name: "bazaar", ServedBy: "market"}, func(a *relay.Access) error {
				a.BaseURLs, a.Settings = map[string]string{"api": address}, []byte(settings)
				return nil
			}))
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key},
		(&jose.SignerOptions{}).WithHeader("kid", "k1"))
	require.NoError(t, err)
	send := func(audience string) apiResponse {
		token, err := jwt.Signed(signer).Claims(jwt.Claims{Issuer: "https://market.example",
			Audience: jwt.Audience{audience}, Expiry: jwt.NewNumericDate(m.hub.db.Clock().Now().Add(time.Minute)),
		}).Serialize()
		require.NoError(t, err)
		return m.post(m.path("signed-in"), "application/x-www-form-urlencoded", "type=ping",
			map[string]string{"Authorization": "Bearer " + token})
	}
	require.Equal(t, 401, send("client-7").status)
	require.Contains(t, m.log.String(), relay.CodeTokenUnset)
	m.clock.Advance(time.Second) // one line a second
	configure("http://127.0.0.2:1", `{"client_id":"client-7"}`)
	require.Equal(t, 401, send("client-7").status)
	require.Contains(t, m.log.String(), "may not call the host 127.0.0.2")
	configure(keys.URL+"/elsewhere", `{"client_id":"client-7"}`)
	require.Equal(t, 503, send("client-7").status, "the sender must not take it for final")
	configure(keys.URL, `{"client_id":"client-7"}`)
	accepted := send("client-7")
	require.Equal(t, []any{410, "gone"}, []any{accepted.status, accepted.text})
	m.clock.Advance(time.Second)
	require.Equal(t, 401, send("client-8").status)
	require.Contains(t, m.log.String(), relay.CodeTokenAudience)
}
