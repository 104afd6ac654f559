package hub

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/plugintest"
)

// laterClient is a business whose store s1 is listed on a platform that reports outcomes later. Tasks are numbered.
type laterClient struct {
	*publishClient
	tasks atomic.Int64
}

func newLaterClient(t *testing.T) *laterClient {
	t.Helper()
	dir := t.TempDir()
	installtest.Plugin(t, dir, "later", "../../pluginhost/testdata/later")
	l := &laterClient{publishClient: &publishClient{menuClient: newMenuClientAt(t, newPluginAPI(t, dir, unlimited)),
		aggregators: newFakeAggregators(t), seenCallbacks: 1}}
	l.aggregators.respondWith(func(int, receivedRequest) (int, string) { return 202, l.accept() })
	require.NoError(t, platforms.New(l.hub.db).Set(t.Context(), l.tenant.ID,
		core.Platform{Name: "p", ServedBy: "later"}, func(a *relay.Access) error {
			a.BaseURLs = map[string]string{"gateway": l.aggregators.URL}
			a.Secrets = map[string]string{"events_key": "k3y"}
			a.Accept = relay.AcceptPOS
			return nil
		}))
	l.callbacks = hubtest.NewEventSink(t, nil)
	l.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"hub_menu_publish","url":%q}`, l.callbacks.URL))
	return l
}

func (l *laterClient) accept() string { return fmt.Sprintf(`{"task":"T-%d"}`, l.tasks.Add(1)) }

// report sends a message of the aggregator.
func (l *laterClient) report(body string) apiResponse {
	l.t.Helper()
	m := marketClient{orderClient: &orderClient{menuClient: l.menuClient}}
	return m.post(fmt.Sprintf("/channel/api/v1/p/callback/events/?business=%d", l.tenant.ID), "application/json", body,
		map[string]string{"X-Key": "k3y"})
}

func (l *laterClient) requireEffect(effect, body string) {
	l.t.Helper()
	response := l.report(body)
	require.Equal(l.t, 200, response.status, response.text)
	require.Contains(l.t, response.text, effect)
}

// awaitPending waits until the outcome of a task is pending.
func (l *laterClient) awaitPending(task string) map[string]any {
	l.t.Helper()
	var found map[string]any
	l.advanceUntil("pending "+task, func() bool {
		found = l.publication()
		pending, ok := found["pending_outcome"].(map[string]any)
		return ok && pending["reference"] == task
	})
	return found
}

func (l *laterClient) publication() map[string]any {
	l.t.Helper()
	list := l.ok("GET", publicationsRoute+"?platform=p", "").body["publications"].([]any)
	if len(list) == 0 {
		return map[string]any{}
	}
	return list[0].(map[string]any)
}

func menuOf(title string) string {
	return fmt.Sprintf(`{"items":[{"ref_id":"soup","title":%q,"price":5}]}`, title)
}

// sendPending sends a menu whose outcome is then pending as the task. It returns the request's reference.
func (l *laterClient) sendPending(title, task string) string {
	l.t.Helper()
	reference := l.sendMenu("s1", menuOf(title))
	l.awaitPending(task)
	return reference
}

// requireCounted checks the metric of an effect.
func (l *laterClient) requireCounted(kind, effect string) {
	l.t.Helper()
	response := l.do(l.t, request{method: "GET", path: "/metrics"})
	require.Contains(l.t, response.text, fmt.Sprintf("servery_outcomes_total{effect=%q,kind=%q} 1\n", effect, kind))
}

func TestPluginWithLaterOutcomesPassesTheSuite(t *testing.T) {
	dir := t.TempDir()
	installtest.Plugin(t, dir, "later", "../../pluginhost/testdata/later")
	plugintest.Run(t, plugintest.Subprocess(filepath.Join(dir, "later", "later"), ""), plugintest.Options{})
}

func TestMenuIsPublishedWhenItsOutcomeArrives(t *testing.T) {
	l := newLaterClient(t)
	reference := l.sendPending("Soup", "T-1")
	pending := l.publication()
	require.Equal(t, "waiting", pending["status"])
	require.Nil(t, pending["published_at"])
	require.Empty(t, l.callbacks.Arrivals())
	l.requireEffect("no outcome yet", `{"task":"T-1","state":"running"}`)
	l.requireEffect("outcome recorded", `{"task":"T-1","state":"done"}`)
	l.requireEffect("the outcome is known", `{"task":"T-1","state":"failed"}`)
	event := l.awaitEvents(1)["p"]
	require.Equal(t, "success", event["status"])
	require.Equal(t, reference, event["reference_id"])
	published := l.publication()
	require.Equal(t, "published", published["status"])
	require.NotNil(t, published["published_at"])
	require.Nil(t, published["pending_outcome"])
	require.Nil(t, published["due_at"])
	l.settle()
	require.Len(t, l.callbacks.Arrivals(), 1)
	require.Len(t, l.aggregators.requests(), 1)
	l.requireCounted("menu", "settled")
	l.requireCounted("menu", "repeated")
}

func TestFailedOutcomeOfAMenuHasItsFindings(t *testing.T) {
	l := newLaterClient(t)
	reference := l.sendPending("Soup", "T-1")
	l.requireEffect("outcome recorded",
		`{"state":"failed","kind":"menu","store":"s1","items":[{"ID":"soup","Why":"no picture"}]}`)
	event := l.awaitEvents(1)["p"]
	require.Equal(t, "error", event["status"])
	require.Equal(t, reference, event["reference_id"])
	require.Contains(t, fmt.Sprint(event["errors"]), "no picture")
	require.Equal(t, "failed", l.publication()["status"])
	require.Equal(t, 404, l.report(`{"state":"done","kind":"menu","store":"unknown"}`).status)
}

func TestRetryableOutcomeSendsTheMenuAgain(t *testing.T) {
	l := newLaterClient(t)
	l.sendPending("Soup", "T-1")
	l.requireEffect("sends the request again", `{"task":"T-1","state":"retry","message":"busy"}`)
	l.awaitPending("T-2")
	l.requireEffect("outcome recorded", `{"task":"T-2","state":"done"}`)
	require.Equal(t, "success", l.awaitEvents(1)["p"]["status"])
	require.Len(t, l.aggregators.requests(), 2)
}

func TestOutcomeBeforeTheResponseIsApplied(t *testing.T) {
	l := newLaterClient(t)
	early := make(chan apiResponse, 1)
	l.aggregators.respondWith(func(int, receivedRequest) (int, string) {
		early <- l.report(`{"task":"E-1","state":"done"}`)
		return 202, `{"task":"E-1"}`
	})
	l.sendMenu("s1", menuOf("Soup"))
	require.Equal(t, "success", l.awaitEvents(1)["p"]["status"])
	require.Contains(t, (<-early).text, "its request is not known yet")
	require.Equal(t, "published", l.publication()["status"])
	l.requireEffect("the outcome is known", `{"task":"E-1","state":"done"}`)
}

func TestOutcomeWithoutAReferenceWaitsForTheResponse(t *testing.T) {
	l := newLaterClient(t)
	const done = `{"state":"done","kind":"menu","store":"s1"}`
	l.sendPending("Soup", "T-1")
	l.requireEffect("outcome recorded", done)
	l.awaitEvents(1)
	early := make(chan apiResponse, 1)
	l.aggregators.respondWith(func(int, receivedRequest) (int, string) {
		early <- l.report(done)
		return 202, l.accept()
	})
	l.sendPending("Hot soup", "T-2")
	require.Equal(t, 503, (<-early).status)
	l.requireEffect("outcome recorded", done)
	require.Equal(t, "published", l.publication()["status"])
}

func TestOverdueOutcomeFailsTheMenu(t *testing.T) {
	l := newLaterClient(t)
	l.sendPending("Soup", "T-1")
	l.clock.Advance(10 * time.Minute)
	event := l.awaitEvents(1)["p"]
	require.Equal(t, "error", event["status"])
	require.Contains(t, fmt.Sprint(event["errors"]), "did not report the outcome by")
	l.requireEffect("the outcome is known", `{"task":"T-1","state":"done"}`)
	require.Equal(t, "failed", l.publication()["status"])
	l.requireCounted("menu", "expired")
	l.sendPending("Hot soup", "T-2")
	l.requireEffect("outcome recorded", `{"task":"T-2","state":"done"}`)
	require.Equal(t, "success", l.awaitEvents(2)["p"]["status"])
}

func TestNewerMenuReplacesAPendingOne(t *testing.T) {
	l := newLaterClient(t)
	first := l.sendPending("Soup", "T-1")
	second := l.sendPending("Hot soup", "T-2")
	l.requireEffect("a newer request has replaced", `{"task":"T-1","state":"failed"}`)
	require.Empty(t, l.callbacks.Arrivals())
	require.Equal(t, "waiting", l.publication()["status"])
	l.requireEffect("outcome recorded", `{"task":"T-2","state":"done"}`)
	l.awaitEvents(2)
	var references []string
	for _, arrival := range l.callbacks.Arrivals() {
		require.Contains(t, string(arrival.Body), `"success"`)
		for _, reference := range []string{first, second} {
			if strings.Contains(string(arrival.Body), reference) {
				references = append(references, reference)
			}
		}
	}
	require.ElementsMatch(t, []string{first, second}, references)
}

func TestUnchangedMenuStaysPending(t *testing.T) {
	l := newLaterClient(t)
	l.sendPending("Soup", "T-1")
	l.sendMenu("s1", `{"items":[{"ref_id":"soup","title":"Soup","price":6}]}`) // the plugin sends names only
	l.advanceUntil("the rendering", func() bool {
		found := l.publication()
		return found["due_at"] == found["pending_outcome"].(map[string]any)["until"]
	})
	l.requireEffect("outcome recorded", `{"task":"T-1","state":"done"}`)
	l.awaitEvents(1)
	l.settle()
	require.Len(t, l.aggregators.requests(), 1)
}

func TestAvailabilityChangeEndsWithItsOutcome(t *testing.T) {
	l := newLaterClient(t)
	l.sendPending("Soup", "T-1")
	l.requireEffect("outcome recorded", `{"task":"T-1","state":"done"}`)
	l.awaitEvents(1)
	sink := hubtest.NewEventSink(t, nil)
	for _, event := range []string{"store_action", "item_state_toggle"} {
		l.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":%q,"url":%q}`, event, sink.URL))
	}
	l.ok("POST", locationRoute, `{"location_ref_id":"s1","action":"disable","platforms":["p"]}`)
	l.advanceUntil("the request", func() bool { return l.pendingCalls() == 1 })
	require.Empty(t, sink.Arrivals())
	l.requireEffect("outcome recorded", `{"task":"T-2","state":"done"}`)
	l.advanceUntil("the event", func() bool { return len(sink.Arrivals()) >= 1 })
	require.Contains(t, string(sink.Arrivals()[0].Body), `"status":true`)

	accepted := l.ok("POST", itemsRoute,
		`{"location_ref_id":"s1","action":"disable","item_ref_ids":["soup"],"platforms":["p"]}`)
	l.advanceUntil("the request", func() bool { return l.pendingCalls() == 1 })
	switched := l.ok("GET", "/hub/api/v1/switches/"+accepted.body["reference"].(string)+"/", "").text
	require.Contains(t, switched, "waiting for the outcome until")
	l.requireEffect("outcome recorded",
		`{"kind":"items","store":"s1","state":"done","items":[{"ID":"soup","Why":"odd"}]}`)
	l.advanceUntil("the event", func() bool {
		last := sink.Arrivals()[len(sink.Arrivals())-1]
		return strings.Contains(string(last.Body), "odd")
	})
	l.requireCounted("store_action", "settled")
	l.requireCounted("item_action", "settled")
}

func (l *laterClient) pendingCalls() (n int) {
	l.t.Helper()
	require.NoError(l.t, l.hub.db.Bun().QueryRowContext(context.Background(),
		`SELECT count(*) FROM calls WHERE business_id = ? AND state = 'pending'`, l.tenant.ID).Scan(&n))
	return n
}

func TestStoreSwitchResendsAPendingMenu(t *testing.T) {
	l := newLaterClient(t)
	l.sendPending("Soup", "T-1")
	l.ok("POST", locationRoute, `{"location_ref_id":"s1","action":"disable","platforms":["p"]}`)
	l.advanceUntil("the request", func() bool { return l.pendingCalls() == 1 })
	l.requireEffect("outcome recorded", `{"task":"T-2","state":"done"}`)
	l.awaitPending("T-3")
	l.requireEffect("a newer request has replaced", `{"task":"T-1","state":"done"}`)
}

func TestOverdueAvailabilityChangeFails(t *testing.T) {
	l := newLaterClient(t)
	l.sendPending("Soup", "T-1")
	l.requireEffect("outcome recorded", `{"task":"T-1","state":"done"}`)
	l.awaitEvents(1)
	sink := hubtest.NewEventSink(t, nil)
	l.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"store_action","url":%q}`, sink.URL))
	l.ok("POST", locationRoute, `{"location_ref_id":"s1","action":"disable","platforms":["p"]}`)
	l.advanceUntil("the request", func() bool { return l.pendingCalls() == 1 })
	require.NoError(t, l.hub.outcomes.Sweep(t.Context()))
	require.Equal(t, 1, l.pendingCalls())
	l.clock.Advance(10 * time.Minute)
	require.NoError(t, l.hub.outcomes.Sweep(t.Context()))
	require.NoError(t, l.hub.outcomes.Sweep(t.Context()))
	l.advanceUntil("the event", func() bool { return len(sink.Arrivals()) >= 1 })
	require.Contains(t, string(sink.Arrivals()[0].Body), "did not report its outcome by")
	l.requireEffect("the outcome is known", `{"task":"T-2","state":"done"}`)
	l.requireCounted("store_action", "expired")
}

func TestAcknowledgementEndsWithItsOutcome(t *testing.T) {
	l := newLaterClient(t)
	l.sendMenu("s1", menuOf("Soup"))
	placed := l.report(`{"order":{"ID":"O-1","Store":"s1","Item":"soup"}}`)
	require.Equal(t, 200, placed.status, placed.text)
	var id int64
	require.NoError(t, l.hub.db.Bun().QueryRowContext(t.Context(),
		`SELECT id FROM orders WHERE business_id = ?`, l.tenant.ID).Scan(&id))
	early := make(chan apiResponse, 1)
	l.aggregators.respondWith(func(_ int, r receivedRequest) (int, string) {
		if !strings.Contains(r.path, "/orders/") {
			return 202, `{}`
		}
		select {
		case early <- l.report(`{"task":"A-1","state":"retry","message":"busy"}`):
			return 202, `{"task":"A-1"}`
		default:
			return 202, `{"task":"A-2"}`
		}
	})
	l.ok("PUT", oneOrder(id)+"status/", `{"new_status":"Acknowledged"}`)
	l.advanceUntil("the second task", func() bool {
		response := l.report(`{"task":"A-2","state":"failed","message":"too late"}`)
		return strings.Contains(response.text, "outcome is known")
	})
	var state, message string
	require.NoError(t, l.hub.db.Bun().QueryRowContext(t.Context(),
		`SELECT state, message FROM calls WHERE business_id = ? AND order_id = ?`, l.tenant.ID, id).
		Scan(&state, &message))
	require.Equal(t, []string{"failed", "too late"}, []string{state, message})
	l.requireEffect("the outcome is known", `{"task":"A-1","state":"done"}`)
}

func TestWarningsDoNotBlockWhatTheyName(t *testing.T) {
	l := newLaterClient(t)
	l.sendMenu("s1", `{"categories":[{"ref_id":"mains","name":"Mains","sub_categories":[]}],
		"items":[{"ref_id":"soup","title":"Soup?","price":5,"category_ref_ids":["mains"]},
		{"ref_id":"rice","title":"Rice!","price":5,"category_ref_ids":["mains"]}],
		"option_groups":[{"ref_id":"size","title":"Size","item_ref_ids":["soup"]}]}`)
	found := l.awaitPending("T-1")
	require.Equal(t, `["Soup?"]`, l.aggregators.requests()[0].body)
	require.Nil(t, found["warnings"])
	l.requireEffect("outcome recorded", `{"task":"T-1","state":"done"}`)
	event := l.awaitEvents(1)["p"]
	found = l.publication()
	require.Equal(t, event["warnings"], found["warnings"])
	require.Equal(t, event["errors"], found["errors"])
	require.Contains(t, fmt.Sprint(found["warnings"]), "code:incomplete entity:category message:has no description")
	require.NotContains(t, fmt.Sprint(found["warnings"]), "entity:item")
	require.Contains(t, fmt.Sprint(found["errors"]), "rice")
	require.NotContains(t, fmt.Sprint(found["errors"]), "soup")
	menu := l.awaitCallback(2)
	require.Contains(t, fmt.Sprint(menu["items"]), "rule:question severity:warning")
	require.Contains(t, fmt.Sprint(menu["items"]), "rule:loud]")
}
