package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	intakedb "github.com/servery-hub/servery/core/internal/postgres/intake"
	ordersdb "github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/webhook"
)

// cachedIntake is an intake with a caller whose key is cached, and another replica.
type cachedIntake struct {
	*menuHarness
	intake  *intakedb.Intake
	keys    access.Access
	key     access.Key
	header  string
	webhook webhook.Subscription
	replica *postgres.DB
	placed  int
}

func newCachedIntake(t *testing.T) *cachedIntake {
	url := hubtest.DatabaseURL(t)
	db := hubtest.Open(t, url, nil)
	c := &cachedIntake{menuHarness: newMenuHarness(t, db, "US"), replica: hubtest.Connect(t, url, nil),
		keys: access.Access{Keys: accessdb.New(db), Clock: db.Clock()}}
	c.store("s1")
	c.webhook = hubtest.Subscribe(t, db, c.business, core.OrderPlaced, "http://127.0.0.1:1/first")
	key, secret, err := c.keys.CreateKey(context.Background(), access.Key{Business: c.business, Username: "shop",
		Scope: core.ScopeChannel})
	require.NoError(t, err)
	c.key, c.header, c.intake = key, "apikey shop:"+secret, newIntake(t, db)
	_, err = c.place()
	require.NoError(t, err)
	return c
}

// place places another order as a request does.
func (c *cachedIntake) place() (order.PlaceResult, error) {
	caller, err := c.keys.Recognize(context.Background(), c.header)
	require.NoError(c.t, err, "the cached key")
	c.placed++
	arrival := c.arrival("W-"+string(rune('A'+c.placed)), "web", oneCurry, "")
	arrival.Credential = caller.Credential
	return c.intake.Place(context.Background(), arrival)
}

func TestOrderAtRestTakesOneRoundTrip(t *testing.T) {
	c := newCachedIntake(t)
	statements := pgtest.Statements(c.db)
	for range 3 {
		before := statements()
		_, err := c.place()
		require.NoError(t, err)
		require.Equal(t, 1, statements()-before)
	}
	require.Len(t, placedIDs(t, c.db), 4)
}

func TestRevokedKeyIsRejectedByEveryReplica(t *testing.T) {
	c := newCachedIntake(t)
	require.NoError(t, accessdb.New(c.replica).DisableKey(context.Background(), c.business, c.key.ID))
	before := pgtest.OrderCounts(t, c.db)
	_, err := c.place()
	require.Equal(t, core.Forbidden, core.CodeOf(err))
	require.Equal(t, before, pgtest.OrderCounts(t, c.db))
	_, err = c.keys.Recognize(context.Background(), c.header)
	require.Equal(t, core.Forbidden, core.CodeOf(err))
}

// orderOutcome is what an order at the cached values became.
type orderOutcome struct {
	order.Relay
	deliveries, leased, calls int
	err                       error
}

// next places an order after a change of another replica.
func (c *cachedIntake) next(change string) (o orderOutcome) {
	pgtest.Exec(c.t, c.replica, `DELETE FROM delivery_queue; DELETE FROM call_queue`)
	pgtest.Exec(c.t, c.replica, change)
	_, o.err = c.place()
	require.NoError(c.t, jsonv2.Unmarshal([]byte(c.lastOrder()), &o.Relay))
	pgtest.Row(c.t, c.db, &o.deliveries, `SELECT count(*) FROM delivery_queue`)
	pgtest.Row(c.t, c.db, &o.leased, `SELECT count(owner) FROM delivery_queue`)
	pgtest.Row(c.t, c.db, &o.calls, `SELECT count(*) FROM call_queue`)
	return o
}

func TestChangesOfOtherReplicasApplyToNextOrder(t *testing.T) {
	c := newCachedIntake(t)
	outbox.UseStarter(c.db, deadReplica{c.db.Clock()})
	disabled := func(o orderOutcome) bool {
		return slices.ContainsFunc(o.Order.Details.Flags,
			func(f order.Flag) bool { return f.Code == order.OrderingDisabled })
	}
	enabled := func(o orderOutcome) bool { return !disabled(o) }
	leased := func(n int) func(orderOutcome) bool { return func(o orderOutcome) bool { return o.leased == n } }
	calls := func(n int) func(orderOutcome) bool { return func(o orderOutcome) bool { return o.calls == n } }
	sent := func(n int) func(orderOutcome) bool { return func(o orderOutcome) bool { return o.deliveries == n } }
	channel := func(name string) func(orderOutcome) bool {
		return func(o orderOutcome) bool { return o.Order.Details.Channel == name }
	}
	require.True(t, leased(1)(c.next(`SELECT 1`)))
	for _, change := range []struct {
		statement string
		applied   func(orderOutcome) bool
	}{
		{`UPDATE stores SET name = 'Other Street'`,
			func(o orderOutcome) bool { return o.Order.Store.Name == "Other Street" }},
		{`UPDATE businesses SET name = 'Other Bakery'`,
			func(o orderOutcome) bool { return o.Order.Details.BusinessName == "Other Bakery" }},
		{`INSERT INTO platform_aliases (business_id, alias, platform, sent, created_at)
			SELECT id, 'webshop', 'web', true, now() FROM businesses`, channel("webshop")},
		{`DELETE FROM platform_aliases`, channel("web")},
		{`INSERT INTO catalogue_entities (business_id, kind, id, name, active, parent_id, all_items, record, updated_at)
			SELECT id, 1, 900, 'curry', true, 0, false, '{"ref_id":"curry","title":"Other Curry"}', now()
			FROM businesses;
			INSERT INTO menu_versions (business_id, store_id, version) SELECT id, 0, 1000 FROM businesses
			ON CONFLICT (business_id, store_id) DO UPDATE SET version = 1000`,
			func(o orderOutcome) bool { return o.Order.Items[0].Title == "Other Curry" }},
		{`INSERT INTO store_switches (business_id, store_id, platform, open, source, reason, actor, reference, at)
			SELECT business_id, id, 'web', false, 'api', '', '', gen_random_uuid(), now() FROM stores`, disabled},
		{`UPDATE store_switches SET open = true`, enabled},
		{`UPDATE store_switches SET open = false`, disabled},
		{`DELETE FROM store_switches`, enabled},
		{`UPDATE webhooks SET active = false`, sent(0)},
		{`UPDATE webhooks SET active = true`, sent(1)},
		{`INSERT INTO endpoint_circuits (business_id, endpoint, failures, since, at, status, error, probing_since)
			SELECT business_id, id, 20, now(), now(), 503, '', now() FROM webhooks`, leased(0)},
		{`UPDATE endpoint_circuits SET probing_since = NULL`, leased(1)},
		{`UPDATE endpoint_circuits SET probing_since = now()`, leased(0)},
		{`DELETE FROM endpoint_circuits`, leased(1)},
		{`UPDATE platforms SET served_by = 'aggregator-a' WHERE name = 'web'`, calls(1)},
		{`UPDATE platforms SET accept = 'pos' WHERE name = 'web'`, calls(0)},
		{`DELETE FROM platforms WHERE name = 'web'`,
			func(o orderOutcome) bool { return core.CodeOf(o.err) == core.NotFound }},
	} {
		o := c.next(change.statement)
		require.True(t, change.applied(o), "%s: %+v", change.statement, o)
	}
}

func TestOtherBusinessesDoNotInvalidateCachedValues(t *testing.T) {
	c := newCachedIntake(t)
	other := hubtest.Business(t, c.db)
	hubtest.Subscribe(t, c.replica, other.ID, core.OrderPlaced, "http://127.0.0.1:1/")
	statements := pgtest.Statements(c.db)
	_, err := c.place()
	require.NoError(t, err)
	require.Equal(t, 1, statements())
}

func TestReadingAnOrderTakesOneRoundTrip(t *testing.T) {
	c := newCachedIntake(t)
	placed, err := c.place()
	require.NoError(t, err)
	store := ordersdb.New(c.db)
	for _, state := range []order.State{order.Acknowledged, order.FoodReady} {
		_, err = store.Change(context.Background(), c.business, placed.OrderID, order.Change{To: state})
		require.NoError(t, err)
	}
	_, err = store.Get(context.Background(), c.business+1, "", placed.OrderID)
	require.Equal(t, core.NotFound, core.CodeOf(err))
	statements := pgtest.Statements(c.db)
	record, err := store.Get(context.Background(), c.business, "", placed.OrderID)
	require.NoError(t, err)
	require.Len(t, record.History, 3)
	require.Equal(t, 1, statements(), "with the role of the tenant")
}

func TestChangedWebhookAppliesToBatchesOfAnySize(t *testing.T) {
	c := newCachedIntake(t)
	publisher, tables := outbox.NewPublisher(c.db), func() (events, deliveries int) {
		pgtest.Row(t, c.db, &events, `SELECT count(*) FROM events`)
		pgtest.Row(t, c.db, &deliveries, `SELECT count(*) FROM delivery_queue`)
		return events, deliveries
	}
	_, queued := tables()
	pgtest.Exec(t, c.replica, `UPDATE webhooks SET active = false`)
	for _, n := range []int{1, 100, 400} {
		stored, _ := tables()
		events := make([]core.Event, n)
		for i := range events {
			now := c.db.Clock().Now().Add(time.Duration(i) * time.Microsecond)
			events[i] = core.Event{ID: core.NewID(now), Business: c.business, Type: core.OrderPlaced, At: now,
				Body: []byte(`{}`)}
		}
		require.NoError(t, publisher.Publish(context.Background(), events...))
		after, deliveries := tables()
		require.Equal(t, []int{stored + n, queued}, []int{after, deliveries})
	}
}

func TestForgottenChangesMakeCachedValuesStale(t *testing.T) {
	c := newCachedIntake(t)
	pgtest.Exec(t, c.replica, `INSERT INTO business_changes (business_id, changed_by)
		SELECT n, '1'::xid8 FROM generate_series(1000, 11001) n`)
	pgtest.Exec(t, c.replica, `UPDATE stores SET name = 'Other Street'`)
	require.NoError(t, schema.Maintain(context.Background(), c.replica, 30*24*time.Hour))
	var rows int
	pgtest.Row(t, c.db, &rows, `SELECT count(*) FROM business_changes WHERE business_id <> 0`)
	require.Zero(t, rows)
	statements := pgtest.Statements(c.db)
	_, err := c.place()
	require.NoError(t, err)
	require.Greater(t, statements(), 1)
	bodies := pgtest.EventBodies(t, c.db, core.OrderPlaced)
	require.Contains(t, string(bodies[len(bodies)-1]), "Other Street")
}
