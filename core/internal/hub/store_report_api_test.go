package hub

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/webhook"
)

// reportClient is a marketplace that reports the state of store s1, which it knows as 77.
type reportClient struct {
	*marketClient
	nonces int
	events *hubtest.Sink // store_platform_status
}

func newReportClient(t *testing.T) *reportClient {
	t.Helper()
	m := &reportClient{marketClient: newMarketClient(t), events: hubtest.NewEventSink(t, nil)}
	m.ok("POST", storesRoute+"?wait=10",
		`{"stores":[{"ref_id":"s1","platform_data":[{"name":"bazaar","platform_store_id":"77"}]}]}`)
	m.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"store_platform_status","url":%q}`, m.events.URL))
	return m
}

// message sends a message about a store, and returns the hub's text.
func (m *reportClient) message(fields ...string) string {
	m.t.Helper()
	m.nonces++
	response := m.event(fmt.Sprint("r-", m.nonces), fields...)
	require.Equal(m.t, 200, response.status, response.text)
	return response.text
}

// report reports the state of the store at a time.
func (m *reportClient) report(state string, at time.Time, fields ...string) string {
	return m.message(append([]string{"type", "store", "store", "77", "state", state, "at",
		fmt.Sprint(at.UnixMilli())}, fields...)...)
}

// status returns what the API says that platforms report about the store.
func (m *reportClient) status() any {
	return m.ok("GET", storesRoute+"s1/", "").body["platform_status"]
}

func TestPlatformReportsStateOfStore(t *testing.T) {
	m := newReportClient(t)
	now := m.hub.db.Clock().Now().Truncate(time.Millisecond)
	require.Contains(t, m.report("open", now.Add(-time.Hour)), "is recorded")
	closed, until := now.Add(-time.Minute), now.Add(time.Hour)
	require.Contains(t, m.report("paused", closed, "why", "two late orders", "until", fmt.Sprint(until.UnixMilli())),
		"is recorded")
	reported := []any{map[string]any{"platform": "bazaar", "state": "paused", "reason": "two late orders",
		"since": float64(closed.UnixMilli()), "until": float64(until.UnixMilli())}}
	require.Equal(t, reported, m.status())

	require.Contains(t, m.report("open", closed.Add(-time.Second)), "or a newer one", "it arrives late")
	again := m.report("paused", closed, "why", "two late orders", "until", fmt.Sprint(until.UnixMilli()))
	require.Contains(t, again, "knows this report")
	require.Equal(t, reported, m.status())
	m.report("paused", closed.Add(time.Second), "why", "two late orders", "until", fmt.Sprint(until.UnixMilli()))
	require.Equal(t, reported, m.status(), "the state is the same since then")

	future := m.report("open", now.Add(24*time.Hour))
	require.Contains(t, future, "is recorded")
	changes := func() []hubtest.Arrival { return m.events.Distinct(webhook.HeaderID) }
	hubtest.WaitUntil(t, "both changes are events", func() bool { return len(changes()) == 2 })
	for i, state := range []string{"paused", "open"} {
		body := changes()[i].Body
		eventtest.Check(t, core.StorePlatformStatus, body)
		require.Contains(t, string(body), fmt.Sprintf(`"state":%q`, state))
	}
	require.Contains(t, m.report("closed", m.hub.db.Clock().Now()), "is recorded", "a wrong clock hides nothing")
	placed := m.event("o-1", "type", "order", "id", "M-1", "store", "s1", "item", "dal", "count", "1")
	require.Equal(t, 202, placed.status, "the hub accepts the orders that the platform sends: %s", placed.text)
}

func TestPlatformReportsOfUnknownStoresAreRejected(t *testing.T) {
	m := newReportClient(t)
	for _, kind := range []string{"store", "menu"} {
		response := m.event("n-"+kind, "type", kind, "store", "78", "state", "closed")
		require.Equal(t, 404, response.status, response.text)
	}
	require.Nil(t, m.status())
}

func TestPlatformRequestsMenuOfStore(t *testing.T) {
	m := newReportClient(t)
	require.Contains(t, m.message("type", "menu", "store", "77"), "publishes the menu")
	m.ok("POST", storesRoute+"?wait=10", `{"stores":[{"ref_id":"s1","excluded_platforms":["bazaar"]}]}`)
	require.Contains(t, m.message("type", "menu", "store", "77"), "does not list")
}
