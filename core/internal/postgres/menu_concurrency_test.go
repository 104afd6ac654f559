package postgres_test

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

// line is the ordering key of jobs.
type line struct {
	business core.BusinessID
	kind     core.JobKind
}

// watch records the start and the end of every job, on all hubs.
type watch struct {
	mu    sync.Mutex
	begun map[line][]core.Job
	wrong []string
	ended int
	total int
	done  chan struct{} // closed when all have ended
}

func newWatch(total int) *watch {
	return &watch{begun: map[line][]core.Job{}, total: total, done: make(chan struct{})}
}

// watched is the job handler of a watched hub.
type watched struct {
	job.Handler
	*watch
	db *postgres.DB
}

// Run records an error if the previous job of the key is not committed or was accepted later.
func (w watched) Run(ctx context.Context, work core.Job, report func(done, total int)) error {
	at := line{work.Business, work.Kind}
	w.mu.Lock()
	if n := len(w.begun[at]); n > 0 {
		before := w.begun[at][n-1]
		state, _, err := pgtest.JobState(ctx, w.db, before.ID)
		if err != nil || state != "done" || before.Seq >= work.Seq {
			w.wrong = append(w.wrong,
				fmt.Sprintf("job %d began after job %d, which was %s (%v)", work.Seq, before.Seq, state, err))
		}
	}
	w.begun[at] = append(w.begun[at], work)
	w.mu.Unlock()
	err := w.Handler.Run(ctx, work, report)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.wrong = append(w.wrong, fmt.Sprintf("job %d: %v", work.Seq, err))
	}
	if w.ended++; w.ended == w.total {
		close(w.done)
	}
	return err
}

// of returns the started jobs of an ordering key, in order.
func (w *watch) of(at line) []core.Job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.begun[at])
}

// start runs a watched hub on the database.
func (w *watch) start(t *testing.T, db *postgres.DB, handlers map[core.JobKind]job.Handler) (stop func()) {
	for kind, handler := range handlers {
		handlers[kind] = watched{handler, w, db}
	}
	return startRunner(t, db, job.Config{Parallel: 8, Poll: 5 * time.Millisecond}, handlers)
}

func within(t *testing.T, what string, reached <-chan struct{}) {
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

func newBranches(t *testing.T, db *postgres.DB) *kitchen {
	k := newDiner(t, db, "US")
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

// clients returns the clients of one business: two for one store, one for the other, one for
// the master catalogue, and one that sends the stores.
func clients() []*client {
	list := []*client{{location: "-1"}, {location: "s1"}, {location: "s2"}, {location: "s1"}, {kind: core.StoreJob}}
	for who, c := range list {
		for n := range 6 {
			body := fmt.Sprintf(`{"stores":[{"ref_id":"s1","name":"N%d"},{"ref_id":"s2","name":"N%d"}]}`, n, n)
			if c.kind == "" {
				body = crossing(who, n)
			}
			c.bodies = append(c.bodies, body)
		}
		if c.kind == "" {
			c.kind = core.MenuJob
		}
	}
	return list
}

// crossing returns a request about entities that other clients send too. The last request
// determines title, rate and price.
func crossing(who, n int) string {
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
	businesses := map[*kitchen][]*client{}
	total := 0
	var rules menu.IngestPolicy
	for range 3 {
		k := newBranches(t, hubs[0])
		businesses[k], rules = clients(), k.rules
		for _, c := range businesses[k] {
			total += len(c.bodies)
		}
	}
	w := newWatch(total)
	var stops []func()
	for _, hub := range hubs {
		stops = append(stops, w.start(t, hub, (&kitchen{t: t, db: hub, rules: rules}).handlers()))
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
	within(t, "all requests are done", w.done)
	for _, stop := range stops {
		stop()
	}
	require.Empty(t, w.wrong)
	for k, clients := range businesses {
		for _, c := range clients {
			requireOrder(t, c.sent, w.of(line{k.business, c.kind}))
		}
		requireSameAlone(t, k, w.of(line{k.business, core.MenuJob}))
		requireSound(t, k, "s1")
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

// requireSameAlone sends the accepted requests of a business in the same order to another
// business without concurrent clients, and compares the results.
func requireSameAlone(t *testing.T, k *kitchen, accepted []core.Job) {
	t.Helper()
	alone := newBranches(t, k.db)
	tell := func(of *kitchen, reference core.ID) any {
		callback := exact(t, pgtest.EventBody(t, of.db, reference)).(map[string]any)
		require.Equal(t, reference.String(), callback["reference"])
		delete(callback, "reference")
		return callback
	}
	ids, idsAlone := renumbering{}, renumbering{}
	for n, work := range accepted {
		reference := alone.enqueue(core.MenuJob, work.Subject, string(work.Body), false)
		require.NoError(t, alone.work())
		require.Equal(t, idsAlone.of(tell(alone, reference)), ids.of(tell(k, work.ID)), "callback of request %d", n)
	}
	everywhere := []string{"-1", "s1", "s2"}
	require.Equal(t, idsAlone.of(alone.readings(everywhere)), ids.of(k.readings(everywhere)))
}

// heldMenus is a menu store whose requests are held in their transaction.
type heldMenus struct {
	menus.Store
	hold func(context.Context, core.BusinessID)
}

func (m heldMenus) Ingest(ctx context.Context, work core.Job, scope menu.Scope, needs menu.ReadSet, objects int,
	decide func(menu.State, func() int64) (menu.IngestResult, error),
) error {
	return m.Store.Ingest(ctx, work, scope, needs, objects,
		func(state menu.State, newID func() int64) (menu.IngestResult, error) {
			m.hold(ctx, work.Business)
			return decide(state, newID)
		})
}

// meeting makes participants wait until all have arrived or it is over.
type meeting struct {
	mu      sync.Mutex
	missing map[core.BusinessID]bool
	full    chan struct{}
	over    chan struct{}
}

func (m *meeting) attend(ctx context.Context, business core.BusinessID) {
	m.mu.Lock()
	if m.missing[business] {
		if delete(m.missing, business); len(m.missing) == 0 {
			close(m.full)
		}
	}
	m.mu.Unlock()
	select {
	case <-m.over:
	case <-ctx.Done():
	}
}

func TestMenuRequestsOfDifferentBusinessesRunConcurrently(t *testing.T) {
	hubs := twoHubs(t)
	all := &meeting{missing: map[core.BusinessID]bool{}, full: make(chan struct{}), over: make(chan struct{})}
	kitchens := []*kitchen{newBranches(t, hubs[0]), newBranches(t, hubs[1]), newBranches(t, hubs[0]),
		newBranches(t, hubs[1])}
	for _, k := range kitchens {
		all.missing[k.business] = true
		k.enqueue(core.MenuJob, "s1", crossing(0, 0), false)
		k.enqueue(core.MenuJob, "s2", crossing(0, 1), false)
	}
	w := newWatch(3 * len(kitchens))
	for _, hub := range hubs {
		w.start(t, hub, map[core.JobKind]job.Handler{core.MenuJob: menu.Ingestor{
			Storage: heldMenus{menus.New(hub), all.attend}, Policy: kitchens[0].rules, Clock: hub.Clock(),
		}})
	}
	goOn := sync.OnceFunc(func() { close(all.over) })
	t.Cleanup(goOn)
	within(t, "a request of each business is in its transaction", all.full)
	for _, k := range kitchens {
		require.Empty(t, k.read("-1")["items"], "nothing is seen before it is done")
		k.enqueue(core.MenuJob, "-1", crossing(0, 3), false) // accepted while another is in its transaction
		require.Len(t, w.of(line{k.business, core.MenuJob}), 1, "the next of the business waits")
	}
	goOn()
	within(t, "all requests are done", w.done)
	require.Empty(t, w.wrong)
	for _, k := range kitchens {
		require.NotEmpty(t, k.read("-1")["items"])
		require.Len(t, k.read("s1")["items"], 2)
	}
}
