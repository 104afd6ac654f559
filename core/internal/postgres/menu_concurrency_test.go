package postgres_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/job"
	"github.com/servery-hub/servery/core/menu"
)

// worksWithin bounds waiting for what takes a second or two.
const worksWithin = time.Minute

// line is the jobs that must follow one another.
type line struct {
	business core.BusinessID
	kind     core.JobKind
}

// watch sees every job begin and end, at whichever hub.
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

// watched is the handler of a hub under watch.
type watched struct {
	job.Handler
	*watch
	db *postgres.DB
}

// Run notes it when the job before this one is not over and done, which means
// committed, or was accepted later.
func (w watched) Run(ctx context.Context, work core.Job, report func(done, total int)) error {
	at := line{work.Business, work.Kind}
	w.mu.Lock()
	if n := len(w.begun[at]); n > 0 {
		before := w.begun[at][n-1]
		state, _, err := w.db.JobState(ctx, before.ID)
		if err != nil || state != "done" || before.Seq >= work.Seq {
			w.wrong = append(w.wrong, fmt.Sprintf("job %d began after job %d, which was %s (%v)", work.Seq, before.Seq, state, err))
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

// of lists the jobs of a line that were begun, in order.
func (w *watch) of(at line) []core.Job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.begun[at])
}

// start runs a hub on the database, under watch.
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

// twoHubs are two hubs on one database.
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

// client sends requests one after the other, to either hub in turn.
type client struct {
	kind     core.JobKind
	location string
	bodies   []string
	sent     []core.ID
}

// clients are those of one business: two for one store, one for the other, one
// for the master, and one that sends the stores themselves.
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

// crossing is a request on what other clients send too: whoever comes last has
// the title, the rate and the price.
func crossing(who, n int) string {
	a, b, number, flush := (who+n)%4, (2*who+3*n+1)%4, 10*who+n, n%3 == 2
	return fmt.Sprintf(`{"categories":[{"ref_id":"C%d","name":"c%d"}],"flush_items":%t,"flush_options":%t,
		"items":[{"ref_id":"I%d","title":"i%d","price":%d,"category_ref_ids":["C%d"],"available":%t},{"ref_id":"J%d","title":"j%d","price":%d}],
		"option_groups":[{"ref_id":"G%d","title":"g%d","item_ref_ids":["I%d"]}],
		"options":[{"ref_id":"O%d","title":"o%d","price":%d,"opt_grp_ref_ids":["G%d"],"nested_opt_grps":["G%d"]}],
		"taxes":[{"code":"ST_P","title":"Sales Tax","structure":{"value":%d},"item_ref_ids":["I%d","J%d"]}],
		"charges":[{"code":"PC_F","title":"Packaging Charge","structure":{"value":1,"applicable_on":"item.quantity"},"item_ref_ids":["J%d"]}]}`,
		a, number, flush, flush, a, number, number, a, n%2 == 0, b, number, number, a, number, a, b, number, number, a, b, a, a, b, b)
}

func (c *client) send(hubs [2]*postgres.DB, business core.BusinessID) error {
	for n, body := range c.bodies {
		db := hubs[n%2]
		now := db.Clock().Now()
		work := core.Job{ID: core.NewID(now), Business: business, Kind: c.kind, Subject: c.location, Body: []byte(body), CreatedAt: now}
		if err := (postgres.Jobs{DB: db}).Enqueue(context.Background(), work, ""); err != nil {
			return err
		}
		c.sent = append(c.sent, work.ID)
	}
	return nil
}

func TestMenuRequestsAtOnceComeOutAsOneAfterTheOther(t *testing.T) {
	hubs := twoHubs(t)
	businesses := map[*kitchen][]*client{}
	total := 0
	var rules menu.Rulebook
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

// requireOrder makes sure that a client's requests were worked on in its order.
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

// requireSameAlone sends what a business sent, in the order in which it was
// accepted, to another business that nobody else is at, and compares.
func requireSameAlone(t *testing.T, k *kitchen, accepted []core.Job) {
	t.Helper()
	alone := newBranches(t, k.db)
	tell := func(of *kitchen, reference core.ID) any {
		callback := exact(t, of.db.EventBody(t, reference)).(map[string]any)
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

// heldMenus are menus whose requests are held within their transaction.
type heldMenus struct {
	postgres.Menus
	hold func(context.Context, core.BusinessID)
}

func (m heldMenus) Ingest(ctx context.Context, work core.Job, scope menu.Scope, needs menu.Needs, objects int,
	decide func(menu.State, func() int64) (menu.Ingested, error),
) error {
	return m.Menus.Ingest(ctx, work, scope, needs, objects, func(state menu.State, newID func() int64) (menu.Ingested, error) {
		m.hold(ctx, work.Business)
		return decide(state, newID)
	})
}

// meeting lets everyone wait, until it is over, for all to be there at once.
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

func TestMenuRequestsOfDifferentBusinessesRunBesideEachOther(t *testing.T) {
	hubs := twoHubs(t)
	all := &meeting{missing: map[core.BusinessID]bool{}, full: make(chan struct{}), over: make(chan struct{})}
	kitchens := []*kitchen{newBranches(t, hubs[0]), newBranches(t, hubs[1]), newBranches(t, hubs[0]), newBranches(t, hubs[1])}
	for _, k := range kitchens {
		all.missing[k.business] = true
		k.enqueue(core.MenuJob, "s1", crossing(0, 0), false)
		k.enqueue(core.MenuJob, "s2", crossing(0, 1), false)
	}
	w := newWatch(3 * len(kitchens))
	for _, hub := range hubs {
		w.start(t, hub, map[core.JobKind]job.Handler{core.MenuJob: menu.Ingestor{
			Records: heldMenus{postgres.Menus{DB: hub}, all.attend}, Rulebook: kitchens[0].rules, Clock: hub.Clock(),
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

// requireSound makes sure that nothing in a store's menu hangs loose, and that a
// customer sees nothing there that is not in the read-back.
func requireSound(t require.TestingT, k *kitchen, ref string) {
	records := postgres.Menus{DB: k.db}
	_, scope, err := records.Address(context.Background(), k.business, ref)
	require.NoError(t, err)
	m, err := records.Menu(context.Background(), k.business, scope.StoreID)
	require.NoError(t, err)
	exists := menu.PerKind[map[int64]bool]{
		exist(m.Categories, func(c menu.Category) int64 { return c.ID }), exist(m.Items, func(i menu.Item) int64 { return i.ID }),
		exist(m.OptionGroups, func(g menu.OptionGroup) int64 { return g.ID }), exist(m.Options, func(o menu.Option) int64 { return o.ID }),
		exist(m.Taxes, func(x menu.Tax) int64 { return x.ID }), exist(m.Charges, func(c menu.Charge) int64 { return c.ID }),
	}
	ends := menu.PerRelation[[2]menu.Kind]{
		menu.ItemCategory: {menu.Items, menu.Categories}, menu.GroupItem: {menu.OptionGroups, menu.Items},
		menu.OptionInGroup: {menu.Options, menu.OptionGroups}, menu.GroupUnderneath: {menu.Options, menu.OptionGroups},
		menu.TaxItem: {menu.Taxes, menu.Items}, menu.ChargeItem: {menu.Charges, menu.Items},
	}
	for relation, links := range m.Links {
		for _, link := range links {
			require.True(t, exists[ends[relation][0]][link.From] && exists[ends[relation][1]][link.To], "relation %d: %+v", relation, link)
		}
	}
	rates := map[string]core.Amount{}
	for _, tax := range m.Taxes {
		for _, link := range m.Links[menu.TaxItem] {
			if link.From == tax.ID {
				name := fmt.Sprint(tax.Code, " of item ", link.To)
				require.NotContains(t, rates, name, "two rates")
				rates[name] = *tax.Structure.Value
			}
		}
	}
	for _, c := range m.Categories {
		require.True(t, c.ParentID == 0 || exists[menu.Categories][c.ParentID], "the parent of %s", c.RefID)
	}
	here := menu.PerKind[map[int64]bool]{
		menu.Categories: exist(m.Store.Categories, func(id int64) int64 { return id }),
		menu.Items:      exist(m.Store.Items, func(i menu.AtStore[menu.ItemValues]) int64 { return i.ID }),
		menu.Options:    exist(m.Store.Options, func(o menu.AtStore[menu.OptionValues]) int64 { return o.ID }),
	}
	for kind, ids := range here {
		require.Subset(t, slices.Collect(maps.Keys(exists[kind])), slices.Collect(maps.Keys(ids)), "%s at the store", menu.Kind(kind))
	}
	requireSeenIsSold(t, k, ref)
}

func exist[R any](records []R, id func(R) int64) map[int64]bool {
	ids := map[int64]bool{}
	for _, record := range records {
		ids[id(record)] = true
	}
	return ids
}

func requireSeenIsSold(t require.TestingT, k *kitchen, ref string) {
	sold := k.reading(ref)
	for _, platform := range []string{"web", "app", "aggregator-a", "aggregator-b"} {
		seen := k.effective(ref, platform)
		items, options := exist(sold.Items, func(i menu.ItemReading) int64 { return i.ID }), exist(sold.Options, func(o menu.OptionReading) int64 { return o.ID })
		groups := exist(sold.OptionGroups, func(g menu.OptionGroupReading) int64 { return g.ID })
		for _, item := range seen.Items {
			require.True(t, items[item.ID], "%s on %s is not sold at %s", item.RefID, platform, ref)
		}
		for _, option := range seen.Options {
			require.True(t, options[option.ID], "%s on %s is not sold at %s", option.RefID, platform, ref)
		}
		for _, group := range seen.OptionGroups {
			require.True(t, groups[group.ID], "%s on %s is not at %s", group.RefID, platform, ref)
		}
	}
}
