package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/job"
	"github.com/servery-hub/servery/core/menu"
)

// worksWithin bounds operations that normally take a second or two.
const worksWithin = time.Minute

// orderingKey is the ordering key of jobs.
type orderingKey struct {
	business core.BusinessID
	kind     core.JobKind
}

// jobRecorder records the start and the end of every job on all hubs.
type jobRecorder struct {
	mu      sync.Mutex
	started map[orderingKey][]core.Job
	errors  []string
	ended   int
	total   int
	done    chan struct{} // closed when all have ended
}

func newJobRecorder(total int) *jobRecorder {
	return &jobRecorder{started: map[orderingKey][]core.Job{}, total: total, done: make(chan struct{})}
}

// recordedHandler is a job handler that records its jobs.
type recordedHandler struct {
	job.Handler
	*jobRecorder
	db *postgres.DB
}

// Run records an error if the previous job of the key is not committed or was accepted later.
func (w recordedHandler) Run(ctx context.Context, work core.Job, report func(done, total int)) error {
	at := orderingKey{work.Business, work.Kind}
	w.mu.Lock()
	if n := len(w.started[at]); n > 0 {
		before := w.started[at][n-1]
		state, _, err := pgtest.JobState(ctx, w.db, before.ID)
		if err != nil || state != "done" || before.Seq >= work.Seq {
			w.errors = append(w.errors,
				fmt.Sprintf("job %d began after job %d, which was %s (%v)", work.Seq, before.Seq, state, err))
		}
	}
	w.started[at] = append(w.started[at], work)
	w.mu.Unlock()
	err := w.Handler.Run(ctx, work, report)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.errors = append(w.errors, fmt.Sprintf("job %d: %v", work.Seq, err))
	}
	if w.ended++; w.ended == w.total {
		close(w.done)
	}
	return err
}

// startedOf returns the started jobs of an ordering key, in order.
func (w *jobRecorder) startedOf(at orderingKey) []core.Job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.started[at])
}

// start runs the handlers on the database and records their jobs.
func (w *jobRecorder) start(t *testing.T, db *postgres.DB, handlers map[core.JobKind]job.Handler) (stop func()) {
	for kind, handler := range handlers {
		handlers[kind] = recordedHandler{handler, w, db}
	}
	return startRunner(t, db, job.Config{Parallel: 8, Poll: 5 * time.Millisecond}, handlers)
}

func requireClosed(t *testing.T, what string, reached <-chan struct{}) {
	t.Helper()
	select {
	case <-reached:
	case <-time.After(worksWithin):
		require.Fail(t, "never: "+what)
	}
}

// twoHubs returns two hubs on one database.
func twoHubs(t *testing.T) [2]*postgres.DB {
	url := hubtest.DatabaseURL(t)
	return [2]*postgres.DB{hubtest.Open(t, url, nil), hubtest.Open(t, url, nil)}
}

func newTwoStores(t *testing.T, db *postgres.DB) *menuHarness {
	k := newGoldenHarness(t, db, "US")
	k.store("s1")
	k.store("s2")
	return k
}

// client sends requests in sequence, alternating between the hubs.
type client struct {
	kind     core.JobKind
	location string
	bodies   []string
	sent     []core.ID
}

// clients returns the clients of one business. Two use store s1, one uses s2, one uses the master
// catalogue, and one sends the stores.
func clients() []*client {
	list := []*client{{location: "-1"}, {location: "s1"}, {location: "s2"}, {location: "s1"}, {kind: core.StoreJob}}
	for who, c := range list {
		for n := range 6 {
			body := fmt.Sprintf(`{"stores":[{"ref_id":"s1","name":"N%d"},{"ref_id":"s2","name":"N%d"}]}`, n, n)
			if c.kind == "" {
				body = crossingTimings(who, n)
			}
			c.bodies = append(c.bodies, body)
		}
		if c.kind == "" {
			c.kind = core.MenuJob
		}
	}
	return list
}

// crossingTimings returns a request about entities that other clients send too. The last request
// determines title, rate and price.
func crossingTimings(who, n int) string {
	a, b, number, flush := (who+n)%4, (2*who+3*n+1)%4, 10*who+n, n%3 == 2
	return fmt.Sprintf(`{"categories":[{"ref_id":"C%d","name":"c%d"}],"flush_items":%t,"flush_options":%t,
		"items":[{"ref_id":"I%d","title":"i%d","price":%d,"category_ref_ids":["C%d"],"available":%t},`+
		`{"ref_id":"J%d","title":"j%d","price":%d}],
		"option_groups":[{"ref_id":"G%d","title":"g%d","item_ref_ids":["I%d"]}],
		"options":[{"ref_id":"O%d","title":"o%d","price":%d,"opt_grp_ref_ids":["G%d"],"nested_opt_grps":["G%d"]}],
		"taxes":[{"code":"ST_P","title":"Sales Tax","structure":{"value":%d},"item_ref_ids":["I%d","J%d"]}],
		"charges":[{"code":"PC_F","title":"Packaging Charge","structure":{"value":1,`+
		`"applicable_on":"item.quantity"},"item_ref_ids":["J%d"]}]}`,
		a, number, flush, flush, a, number, number, a, n%2 == 0, b, number, number, a, number, a, b, number, number, a,
		b, a, a, b, b)
}

func (c *client) send(hubs [2]*postgres.DB, business core.BusinessID) error {
	for n, body := range c.bodies {
		db := hubs[n%2]
		now := db.Clock().Now()
		work := core.Job{ID: core.NewID(now), Business: business, Kind: c.kind, Subject: c.location, Body: []byte(body),
			CreatedAt: now}
		if err := (jobs.New(db)).Enqueue(context.Background(), work, ""); err != nil {
			return err
		}
		c.sent = append(c.sent, work.ID)
	}
	return nil
}

func TestConcurrentMenuRequestsAreSerializable(t *testing.T) {
	hubs := twoHubs(t)
	businesses := map[*menuHarness][]*client{}
	total := 0
	var rules menu.IngestPolicy
	for range 3 {
		k := newTwoStores(t, hubs[0])
		businesses[k], rules = clients(), k.rules
		for _, c := range businesses[k] {
			total += len(c.bodies)
		}
	}
	w := newJobRecorder(total)
	var stops []func()
	for _, hub := range hubs {
		stops = append(stops, w.start(t, hub, (&menuHarness{t: t, db: hub, rules: rules}).handlers()))
	}
	failures := make(chan error, total)
	var sending sync.WaitGroup
	for k, clients := range businesses {
		for _, c := range clients {
			sending.Go(func() { failures <- c.send(hubs, k.business) })
		}
	}
	sending.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	requireClosed(t, "all requests are done", w.done)
	for _, stop := range stops {
		stop()
	}
	require.Empty(t, w.errors)
	for k, clients := range businesses {
		for _, c := range clients {
			requireOrder(t, c.sent, w.startedOf(orderingKey{k.business, c.kind}))
		}
		requireSerializable(t, k, w.startedOf(orderingKey{k.business, core.MenuJob}))
		requireConsistent(t, k, "s1")
	}
}

// requireOrder checks that a client's requests ran in the order they were sent.
func requireOrder(t *testing.T, sent []core.ID, begun []core.Job) {
	t.Helper()
	own := map[core.ID]bool{}
	for _, id := range sent {
		own[id] = true
	}
	var order []core.ID
	for _, work := range begun {
		if own[work.ID] {
			order = append(order, work.ID)
		}
	}
	require.Equal(t, sent, order)
}

// requireSerializable sends the accepted requests of a business in the same order to another
// business without concurrent clients, and compares the results.
func requireSerializable(t *testing.T, k *menuHarness, accepted []core.Job) {
	t.Helper()
	alone := newTwoStores(t, k.db)
	callbackOf := func(of *menuHarness, reference core.ID) any {
		callback := decodeExact(t, pgtest.EventBody(t, of.db, reference)).(map[string]any)
		require.Equal(t, reference.String(), callback["reference"])
		delete(callback, "reference")
		return callback
	}
	ids, idsAlone := renumberedIDs{}, renumberedIDs{}
	for n, work := range accepted {
		reference := alone.enqueue(core.MenuJob, work.Subject, string(work.Body), false)
		require.NoError(t, alone.runJobs())
		require.Equal(t, idsAlone.replace(callbackOf(alone, reference)), ids.replace(callbackOf(k, work.ID)),
			"callback of request %d", n)
	}
	everywhere := []string{"-1", "s1", "s2"}
	require.Equal(t, idsAlone.replace(alone.readings(everywhere)), ids.replace(k.readings(everywhere)))
}

// blockingMenus is a menu store that blocks requests in their transaction.
type blockingMenus struct {
	menus.Store
	hold func(context.Context, core.BusinessID)
}

func (m blockingMenus) Ingest(ctx context.Context, work core.Job, needs menu.IngestNeeds,
	decide func(menu.State, func() int64) (menu.IngestResult, error)) error {
	return m.Store.Ingest(ctx, work, needs,
		func(state menu.State, newID func() int64) (menu.IngestResult, error) {
			m.hold(ctx, work.Business)
			return decide(state, newID)
		})
}

// barrier makes participants wait until all have arrived and done is closed.
type barrier struct {
	mu       sync.Mutex
	missing  map[core.BusinessID]bool
	complete chan struct{}
	done     chan struct{}
}

func (m *barrier) arrive(ctx context.Context, business core.BusinessID) {
	m.mu.Lock()
	if m.missing[business] {
		if delete(m.missing, business); len(m.missing) == 0 {
			close(m.complete)
		}
	}
	m.mu.Unlock()
	select {
	case <-m.done:
	case <-ctx.Done():
	}
}

func TestMenuRequestsOfDifferentBusinessesRunConcurrently(t *testing.T) {
	hubs := twoHubs(t)
	all := &barrier{missing: map[core.BusinessID]bool{}, complete: make(chan struct{}), done: make(chan struct{})}
	harnesses := []*menuHarness{newTwoStores(t, hubs[0]), newTwoStores(t, hubs[1]), newTwoStores(t, hubs[0]),
		newTwoStores(t, hubs[1])}
	for _, k := range harnesses {
		all.missing[k.business] = true
		k.enqueue(core.MenuJob, "s1", crossingTimings(0, 0), false)
		k.enqueue(core.MenuJob, "s2", crossingTimings(0, 1), false)
	}
	w := newJobRecorder(3 * len(harnesses))
	for _, hub := range hubs {
		w.start(t, hub, map[core.JobKind]job.Handler{core.MenuJob: menu.Ingestor{
			Storage: blockingMenus{menus.New(hub), all.arrive}, Policy: harnesses[0].rules, Clock: hub.Clock(),
		}})
	}
	goOn := sync.OnceFunc(func() { close(all.done) })
	t.Cleanup(goOn)
	requireClosed(t, "a request of each business is in its transaction", all.complete)
	for _, k := range harnesses {
		require.Empty(t, k.read("-1")["items"], "nothing is seen before it is done")
		k.enqueue(core.MenuJob, "-1", crossingTimings(0, 3), false) // accepted while another is in its transaction
		require.Len(t, w.startedOf(orderingKey{k.business, core.MenuJob}), 1, "the next of the business waits")
	}
	goOn()
	requireClosed(t, "all requests are done", w.done)
	require.Empty(t, w.errors)
	for _, k := range harnesses {
		require.NotEmpty(t, k.read("-1")["items"])
		require.Len(t, k.read("s1")["items"], 2)
	}
}
