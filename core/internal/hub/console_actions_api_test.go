package hub

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

// withReason adds a reason to the fields of a form.
func withReason(fields url.Values) url.Values {
	if fields == nil {
		fields = url.Values{}
	}
	return withField(fields, "why", "a good reason")
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)"`)

// hiddenFields returns the hidden fields of a page's forms.
func hiddenFields(page apiResponse) url.Values {
	fields := url.Values{}
	for _, found := range hiddenField.FindAllStringSubmatch(page.text, -1) {
		fields.Set(found[1], html.UnescapeString(found[2]))
	}
	return fields
}

// auditActions returns the actions in the audit trail, newest first, without those of the test setup.
func (a *api) auditActions(t *testing.T, business core.BusinessID) (list []string) {
	t.Helper()
	entries, err := consolelists.New(a.hub.db).Audit(context.Background(), business, console.EntryFilter{Limit: 50})
	require.NoError(t, err)
	for _, e := range entries {
		if e.Actor != "test" && (e.Actor != "cli" ||
			!slices.Contains([]string{"business.create", "key.create", "platform.create", "platform.change"},
				e.Action)) {
			list = append(list, e.Action)
		}
	}
	return list
}

func TestConsoleBulkResendMatchesItsPreviewCount(t *testing.T) {
	a := consoleHub(t)
	tenant := hubtest.Business(t, a.hub.db)
	var accepts atomic.Bool
	sink := hubtest.NewSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !accepts.Load() {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	sub := hubtest.SubscribeSeconds(t, a.hub.db, tenant.ID, core.StoreAction, sink.URL)
	a.start(t)
	for range 3 {
		require.NoError(t, outbox.NewPublisher(a.hub.db).Publish(context.Background(),
			core.Event{ID: core.NewID(a.clock.Now()), Business: tenant.ID, Type: core.StoreAction, At: a.clock.Now(),
				Body: []byte(`{}`)}))
	}
	in := func(state webhook.State) []webhook.DeliveryRecord {
		list, err := deliveries.New(a.hub.db).List(context.Background(), tenant.ID,
			webhook.Filter{State: state, Limit: 9})
		require.NoError(t, err)
		return list
	}
	a.waitAdvancing(t, "all are given up", func() bool { return len(in(webhook.Failed)) == 3 })
	sam, vera := a.user(t, "sam@example.com", access.Support, tenant.ID),
		a.user(t, "vera@example.com", access.Viewer, tenant.ID)
	again := shell.BusinessLink(tenant.ID, "deliveries/resend/")
	page := sam.get(t, again+fmt.Sprintf("?webhook=%d", sub.ID))
	require.Contains(t, page.text, "Resend 3 event deliveries")
	require.Equal(t, http.StatusForbidden, vera.get(t, again).status)
	require.Contains(t, sam.get(t, again+"?event=order_placed").text, "nothing to resend")
	require.Equal(t, http.StatusBadRequest, sam.post(t, again, hiddenFields(page)).status, "a reason is asked")

	require.Equal(t, http.StatusSeeOther,
		sam.post(t, shell.BusinessLink(tenant.ID, "deliveries/"+in(webhook.Failed)[0].ID.String()+"/retry/"),
			withReason(nil)).status)
	changed := sam.post(t, again, withReason(hiddenFields(page)))
	require.Equal(t, http.StatusConflict, changed.status)
	require.Contains(t, changed.text, "changed from 3 to 2")
	accepts.Store(true)
	done := sam.post(t, again, withReason(hiddenFields(changed)))
	require.Equal(t, http.StatusSeeOther, done.status, done.text)
	a.waitAdvancing(t, "they are sent again", func() bool { return len(in(webhook.Delivered)) == 3 })
	hubtest.WaitUntil(t, "the job shows how many", func() bool {
		return regexp.MustCompile(`>Resent: 2 event deliveries`).MatchString(sam.get(t,
			done.header.Get("Location")).text)
	})
	require.ElementsMatch(t, []string{"delivery.retry_many", "delivery.retry"}, a.auditActions(t, tenant.ID))
	require.Contains(t, sam.get(t, shell.BusinessLink(tenant.ID, "audit/?action=delivery.retry_many")).text, "count 2")
}

func TestConsoleRerunsAJobAsANewJob(t *testing.T) {
	a := consoleHub(t)
	tenant, stranger := hubtest.Business(t, a.hub.db), hubtest.Business(t, a.hub.db)
	sam := a.user(t, "sam@example.com", access.Admin)
	sent := a.do(t, request{method: "POST", path: storesRoute, authorization: tenant.Authorization,
		body: `{"stores":[{"ref_id":"s1","name":"N","city":"C"}]}`})
	job := shell.BusinessLink(tenant.ID, "jobs/"+sent.body["reference"].(string)+"/")
	early := sam.post(t, job+"rerun/", withReason(nil))
	require.Equal(t, http.StatusConflict, early.status)
	require.Contains(t, early.text, "has not finished")
	require.Equal(t, http.StatusNotFound,
		sam.post(t, shell.BusinessLink(stranger.ID, "jobs/"+sent.body["reference"].(string)+"/rerun/"),
			withReason(nil)).status)
	a.start(t)
	hubtest.WaitUntil(t, "the job is done", func() bool {
		return regexp.MustCompile(`Applied: 1 (store|menu entry)`).MatchString(sam.get(t, job).text)
	})
	r := sam.post(t, job+"rerun/", withReason(nil))
	require.Equal(t, http.StatusSeeOther, r.status, r.text)
	again, _, _ := cutQuery(r.header.Get("Location"))
	require.NotEqual(t, job, again)
	a.waitAdvancing(t, "the new job is done", func() bool {
		return regexp.MustCompile(`Applied: 1 (store|menu entry)`).MatchString(sam.get(t, again).text)
	})
	require.Contains(t, sam.get(t, again).text, `href="`+job+`"`)
	require.Contains(t, sam.get(t, job).text, `href="`+again+`"`)
	require.Equal(t, []string{"job.rerun"}, a.auditActions(t, tenant.ID))
}

func cutQuery(address string) (path, query string, found bool) {
	u, err := url.Parse(address)
	return u.Path, u.RawQuery, err == nil
}

func TestConsoleTestsWebhooksAndRotatesSecrets(t *testing.T) {
	a := consoleHub(t)
	tenant := hubtest.Business(t, a.hub.db)
	sub := hubtest.Subscribe(t, a.hub.db, tenant.ID, core.OrderPlaced, "https://pos.example/hook")
	sam := a.user(t, "sam@example.com", access.Support, tenant.ID)
	here := shell.BusinessLink(tenant.ID, fmt.Sprintf("webhooks/%d/", sub.ID))
	sent := sam.post(t, here+"test/", withReason(nil))
	require.Equal(t, http.StatusSeeOther, sent.status, sent.text)
	require.Contains(t, sam.get(t, sent.header.Get("Location")).text, "The test event is being sent")

	fields := hiddenFields(sam.get(t, here))
	rotated := sam.post(t, here+"rotate/", withReason(url.Values{"seen": fields["seen"]}))
	require.Equal(t, http.StatusOK, rotated.status, rotated.text)
	secret := regexp.MustCompile(`whsec_[A-Za-z0-9+/&#;=]+`).FindString(rotated.text)
	now, err := webhooksdb.New(a.hub.db).Get(context.Background(), tenant.ID, sub.ID)
	require.NoError(t, err)
	require.Equal(t, now.Secret, html.UnescapeString(secret))
	require.NotContains(t, sam.get(t, here).text, secret)
	require.Equal(t, http.StatusConflict,
		sam.post(t, here+"rotate/", withReason(url.Values{"seen": fields["seen"]})).status,
		"somebody was quicker: shown, not lost")
	kept, err := webhooksdb.New(a.hub.db).Get(context.Background(), tenant.ID, sub.ID)
	require.NoError(t, err)
	require.Equal(t, now.Secret, kept.Secret)
	require.ElementsMatch(t, []string{"webhook.rotate", "webhook.test"}, a.auditActions(t, tenant.ID))
}

func TestConsoleWarnsOfUndeliveredEventsAndRevokedKeys(t *testing.T) {
	a := consoleHub(t)
	tenant, other := hubtest.Business(t, a.hub.db), hubtest.Business(t, a.hub.db)
	sam := a.user(t, "sam@example.com", access.Support, tenant.ID, other.ID)
	page := func(path string) string {
		t.Helper()
		require.NoError(t, a.hub.storeConsoleRecordsOnce(context.Background()))
		return sam.get(t, shell.BusinessLink(tenant.ID, path)).text
	}
	list := request{method: "GET", path: webhooksRoute, authorization: tenant.Authorization}
	require.NotContains(t, page("keys/"), "ago</time>")
	require.Equal(t, http.StatusOK, a.do(t, list).status)
	a.clock.Advance(10 * time.Minute)
	require.Contains(t, page("keys/"), ">10 min ago</time>")

	happened := func(event core.EventType) {
		require.NoError(t, outbox.NewPublisher(a.hub.db).Publish(context.Background(),
			core.Event{ID: core.NewID(a.clock.Now()), Business: tenant.ID, Type: event, At: a.clock.Now(),
				Body: []byte(`{}`)}))
	}
	happened(core.InventoryUpdate)
	happened(core.InventoryUpdate)
	happened(core.StoreCreation)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, outbox.StoreUnrouted(gone, a.hub.db), "what could not be stored is stored with the next")
	require.Contains(t, page(""), "No webhook receives inventory_update events. Not sent: 2 events, the last on")
	require.Contains(t, page(""), "No webhook receives store_creation events. Not sent: 1 event,")
	require.NotContains(t, sam.get(t, shell.Root).text, "store_creation events")
	require.NotContains(t, sam.get(t, shell.BusinessLink(other.ID, "")).text, "Not sent:")
	sub := hubtest.Subscribe(t, a.hub.db, tenant.ID, core.InventoryUpdate, "https://pos.example/hook")
	require.NotContains(t, page(""), "inventory_update events")
	require.Equal(t, http.StatusSeeOther,
		sam.post(t, shell.BusinessLink(tenant.ID, fmt.Sprintf("webhooks/%d/pause/", sub.ID)), withReason(nil)).status)
	happened(core.InventoryUpdate)
	require.Contains(t, page(""), "Not sent: 3 events, the last on")
	require.Contains(t, page(""), fmt.Sprintf("Webhook %d for inventory_update events is paused.", sub.ID))

	for range 6 {
		a.do(t, list)
	}
	require.Contains(t, page(""), "The hub rejects requests over the limit WEBHOOKS until")
	for range 2 {
		a.do(t, request{method: "POST", path: "/external/api/v1/inventory/locations/-1/",
			authorization: tenant.Authorization, body: "{}"})
	}
	require.Contains(t, page(""), "The hub rejects requests over the limit MENU until")
	a.clock.Advance(5 * time.Minute)
	require.Contains(t, page(""), "The hub rejected requests over the limit MENU until")
	require.NotContains(t, page(""), "the limit WEBHOOKS", "who subscribed has waited, and is done")
	a.clock.Advance(time.Hour)
	require.NotContains(t, page(""), "too many requests")

	require.Equal(t, http.StatusSeeOther,
		sam.post(t, shell.BusinessLink(tenant.ID, "keys/revoke/"),
			withReason(url.Values{"id": {fmt.Sprint(tenant.KeyID)}})).status)
	require.NotContains(t, page(""), "the revoked API key")
	a.clock.Advance(time.Minute)
	require.Equal(t, http.StatusForbidden, a.do(t, list).status)
	require.Contains(t, page(""), "Requests still use the revoked API key")
	require.Contains(t, page("keys/"), "Requests still use the revoked API key")
}
