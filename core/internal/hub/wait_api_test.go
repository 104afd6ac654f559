package hub

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/job"
)

const timingGroupsRoute = "/external/api/v1/inventory/categories/timing-groups/"

func TestWaitReturnsTheResultOfTheJob(t *testing.T) {
	s := newOrderClient(t, unlimited)
	d := s.menuClient
	stores := d.ok("POST", storesRoute+"?wait=15",
		`{"stores":[{"ref_id":"n1","name":"N","city":"C"},{"ref_id":"n2","city":"C"}]}`)
	require.Equal(t, []any{"ended", "done", "success"},
		[]any{stores.body["wait_outcome"], stores.body["state"], stores.body["status"]})
	require.Equal(t, map[string]any{"created": 1.0, "updated": 0.0, "errors": 1.0, "failed": []any{
		map[string]any{"entity": "stores", "ref_id": "n2", "message": hubtest.Lookup(
			stores.body["result"].(map[string]any)["failed"].([]any)[0], "message")}}}, stores.body["result"])
	require.Regexp(t, "; the job has ended, but 1 object failed$", stores.message())
	read := d.ok("GET", "/external/api/v1/jobs/"+stores.body["reference"].(string)+"/", "").body
	require.Equal(t, read["result"], stores.body["result"], "the job has the same")

	menu := d.ok("POST", menuRoute+"-1?wait=1", `{"items":[{"ref_id":"pie","price":3}]}`)
	require.Equal(t, "ended", menu.body["wait_outcome"])
	require.Equal(t, 1.0, hubtest.Lookup(menu.body["result"].(map[string]any)["stats"].(map[string]any)["items"],
		"errors"))
	preview := d.ok("POST", menuRoute+"-1/?dry_run=true&wait=15", `{"items":[{"ref_id":"tea","title":"T","price":3}]}`)
	require.Equal(t, []any{"ended", "done"}, []any{preview.body["wait_outcome"], preview.body["state"]})
	revision := hubtest.Lookup(d.ok("GET", revisionsRoute+"?limit=1", "").body["revisions"].([]any)[0], "id").(string)
	now := d.clock.Now()
	const timings = `{"timing_groups":[{"title":"noon","category_ref_ids":[],"day_slots":[]}]}`
	for path, body := range map[string]string{
		timingGroupsRoute:                        timings,
		revisionsRoute + revision + "/rollback/": "",
		webhooksRoute + "retry/": fmt.Sprintf(`{"event_type":18,"start_time":%d,"end_time":%d}`,
			now.Add(-time.Hour).UnixMilli(), now.UnixMilli()),
		"/external/api/v1/deliveries/retry/": `{"filter":{"state":"failed"}}`,
	} {
		r := d.ok("POST", path+"?wait=15", body)
		require.Equal(t, "ended", r.body["wait_outcome"], path)
		require.Equal(t, "done", r.body["state"], path)
		require.Regexp(t, "; the job has ended$", r.message())
		require.Contains(t, r.body, "result", path)
		require.NotContains(t, d.ok("POST", path, body).body, "wait_outcome", "without wait nothing is added")
	}
}

func TestWaitParameterIsChecked(t *testing.T) {
	a := newAPI(t, nil)
	tenant := hubtest.Business(t, a.hub.db)
	send := func(path, body string) apiResponse {
		return a.do(t, request{method: "POST", path: path, authorization: tenant.Authorization, body: body})
	}
	for _, wait := range []string{"0", "16", "-1", "x", "1.5", "", "true", "99999999999999999999"} {
		r := send(storesRoute+"?wait="+wait, oneStore)
		requireEnvelope(t, r, 400, "wait must be a whole number of seconds from 1 to 15")
		require.Equal(t, "wait", hubtest.Lookup(r.body["errors"].([]any)[0], "path"))
	}
	refused := send(storesRoute+"?wait=15", `{"stores":[{"ref_id":"s"},{"ref_id":"s"}]}`)
	requireEnvelope(t, refused, 400, "ref_id")
	require.Equal(t, "19", refused.header.Get("RateLimit-Remaining"), "a wrong wait does not count")
	other := send(webhooksRoute+"?wait=x", `{"event_type":18,"url":"https://pos.example.com/"}`)
	require.Equal(t, 200, other.status, "other calls ignore it")
}

// waitFor sends requests that wait for their jobs, and returns their responses later. It returns when the hub has all
// requests.
func (a *api) waitFor(t *testing.T, tenant hubtest.Tenant, n int, body string) []chan apiResponse {
	t.Helper()
	responses := make([]chan apiResponse, n)
	before := a.hub.waits.Waiting()
	for i := range responses {
		responses[i] = make(chan apiResponse, 1)
		go func() {
			responses[i] <- a.do(t, request{method: "POST", path: storesRoute + "?wait=5",
				authorization: tenant.Authorization, body: body})
		}()
	}
	hubtest.WaitUntil(t, "the requests wait", func() bool { return a.hub.waits.Waiting() == before+n })
	return responses
}

func TestWaitEndsInTimeAndHoldsNoMemory(t *testing.T) {
	a := newAPI(t, unlimited) // no worker runs jobs
	tenant := hubtest.Business(t, a.hub.db)
	responses := a.waitFor(t, tenant, 2, `{"stores":[{"ref_id":"s1","name":"N","city":"C"}],`+
		`"ignored":"`+strings.Repeat("x", 1<<20)+`"}`)
	for _, usage := range a.hub.config.Memory.Usages() {
		require.Zero(t, usage.Used, "%v", usage)
	}
	a.clock.Advance(4999 * time.Millisecond)
	require.Equal(t, 2, a.hub.waits.Waiting())
	a.clock.Advance(time.Millisecond)
	for _, response := range responses {
		r := <-response
		require.Equal(t, 200, r.status, r.text)
		require.Equal(t, []any{"time_up", "queued"}, []any{r.body["wait_outcome"], r.body["state"]})
		require.Contains(t, r.message(), "1 store queued; the result follows as a store_creation callback; "+
			"the job had not ended after 5 seconds")
		require.NotContains(t, r.body, "result")
	}
}

func TestWaitsBeyondTheLimitAreAnsweredAtOnce(t *testing.T) {
	a := newAPI(t, unlimited)
	tenant, other := hubtest.Business(t, a.hub.db), hubtest.Business(t, a.hub.db)
	held := a.waitFor(t, tenant, job.MaxBusinessWaiting, oneStore)
	r := a.do(t, request{method: "POST", path: storesRoute + "?wait=5", authorization: tenant.Authorization,
		body: oneStore})
	require.Equal(t, 200, r.status, r.text)
	require.Equal(t, "unavailable", r.body["wait_outcome"])
	require.Contains(t, r.message(), "too many requests wait already")
	require.NotEmpty(t, r.body["reference"])
	held = append(held, a.waitFor(t, other, 1, oneStore)...)
	a.hub.waits.Stop()
	for _, response := range held {
		r := <-response
		require.Equal(t, []any{200, "unavailable"}, []any{r.status, r.body["wait_outcome"]})
		require.Contains(t, r.message(), "shutting down")
	}
}

func TestWaitSeesTheJobOfAnotherReplica(t *testing.T) {
	a := newAPI(t, unlimited)
	tenant := hubtest.Business(t, a.hub.db)
	other := &api{New(a.hub.config, a.hub.db, hubtest.Logger()), a.clock}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { a.hub.waits.Run(ctx) })
	defer running.Wait()
	defer cancel()
	responses := a.waitFor(t, tenant, 1, oneStore)
	other.start(t)
	r := <-responses[0]
	require.Equal(t, []any{"ended", "done"}, []any{r.body["wait_outcome"], r.body["state"]})
}

func TestWaitEndsWhenTheClientIsGone(t *testing.T) {
	a := newAPI(t, unlimited)
	tenant := hubtest.Business(t, a.hub.db)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- a.hub.server.App.Listener(a.hub.connections.Listener(listener)) }()
	t.Cleanup(func() {
		require.NoError(t, a.hub.server.App.Shutdown())
		require.NoError(t, <-served)
	})
	ctx, cancel := context.WithCancel(t.Context())
	sent, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://"+listener.Addr().String()+storesRoute+"?wait=5", strings.NewReader(oneStore))
	require.NoError(t, err)
	sent.Header.Set("Authorization", tenant.Authorization)
	ended := make(chan error, 1)
	go func() {
		response, err := http.DefaultClient.Do(sent)
		if err == nil {
			_ = response.Body.Close()
		}
		ended <- err
	}()
	hubtest.WaitUntil(t, "the request waits", func() bool { return a.hub.waits.Waiting() == 1 })
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	hubtest.WaitUntil(t, "the wait ends", func() bool { return a.hub.waits.Waiting() == 0 })
	var jobs int
	require.NoError(t, a.hub.db.Bun().QueryRow(`SELECT count(*) FROM job_queue`).Scan(&jobs))
	require.Equal(t, 1, jobs, "the job goes on")
}
