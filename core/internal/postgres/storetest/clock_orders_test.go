package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	intakedb "github.com/servery-hub/servery/core/internal/postgres/intake"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/webhook"
)

// rejectingFirst returns a sink that responds with 503 to the first attempt at every fifth event.
func rejectingFirst(t *testing.T) *hubtest.Sink {
	var mu sync.Mutex
	seen := map[string]bool{}
	return hubtest.NewEventSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if id := r.Header.Get("Webhook-Id"); !seen[id] {
			if seen[id] = true; len(seen)%5 == 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}
	})
}

// Two hubs place and change orders while the database's clock moves by days in both
// directions. One of them notices only after it has placed more.
func TestOrdersSurviveClockChangesOfDays(t *testing.T) {
	const perUpdate = 12 // orders per hub between two clock updates
	ctx, url := context.Background(), settableClock(t)
	db, late := hubtest.Open(t, url, nil), hubtest.Connect(t, url, nil)
	hubs := []*postgres.DB{db, late}
	k := newMenuHarness(t, db, "US")
	k.store("s1")
	sink := rejectingFirst(t)
	for _, event := range []core.EventType{core.OrderPlaced, core.OrderStatusUpdate} {
		hubtest.SubscribeSeconds(t, db, k.business, event, sink.URL)
	}
	engine, _ := startEngine(t, db, webhook.Config{}, true)
	intakes := map[*postgres.DB]*intakedb.Intake{db: newIntake(t, db), late: newIntake(t, late)}
	var ids, unmoved []int64
	take := func(hub *postgres.DB) {
		for range perUpdate {
			receipt, err := intakes[hub].Place(ctx, k.arrival(fmt.Sprint(len(ids)), "web", oneCurry, ""))
			require.NoError(t, err)
			ids = append(ids, receipt.OrderID)
		}
	}
	move := func(hub *postgres.DB) { // orders placed before the last clock change
		for _, id := range unmoved {
			_, err := orders.New(hub).Change(ctx, k.business, id,
				order.Change{To: order.Acknowledged, Actor: "key:pos"})
			require.NoError(t, err)
		}
		unmoved = ids[len(ids)-2*perUpdate:]
	}
	for _, hub := range hubs {
		require.NoError(t, hub.SyncClock(ctx))
	}
	maintain := func(hub *postgres.DB) { // the hub retries it too: a partition needs a lock that a busy queue holds
		hubtest.WaitUntil(t, "the partitions to be maintained", func() bool {
			err := schema.Maintain(ctx, hub, month)
			if !postgres.IsCode(err, "55P03") {
				require.NoError(t, err)
			}
			return err == nil
		})
	}
	const days = 24 * time.Hour
	for _, leap := range []time.Duration{0, 8 * days, 0, -8 * days, 0, 13 * time.Hour, 0} {
		setClock(t, db, leap)
		require.NoError(t, db.SyncClock(ctx))
		take(db)
		take(late)
		require.NoError(t, late.SyncClock(ctx))
		maintain(late)
		require.NoError(t, orders.New(late).DropOld(ctx, month))
		move(db)
		maintain(db)
		engine.Wake()
	}
	move(late)

	type receivedIDs struct{ placed, moved string } // webhook-ids
	// A lease from before the last leap has to expire.
	require.Eventually(t, func() bool {
		require.NoError(t, db.SyncClock(ctx)) // as housekeeping does periodically
		require.NoError(t, outbox.Sweep(ctx, db))
		engine.Wake()
		backlog, err := schema.ReadBacklog(ctx, db)
		require.NoError(t, err)
		return backlog.Due+backlog.Scheduled+backlog.Held == 0
	}, 90*time.Second, 200*time.Millisecond, "everything has arrived")
	arrived := map[int64]receivedIDs{}
	for _, a := range sink.Arrivals() {
		var body struct {
			OrderID int64 `json:"order_id"`
			Order   struct {
				Details struct {
					ID int64 `json:"id"`
				} `json:"details"`
			} `json:"order"`
		}
		require.NoError(t, json.Unmarshal(a.Body, &body))
		id := max(body.OrderID, body.Order.Details.ID)
		event := arrived[id]
		at := &event.placed
		if body.OrderID != 0 {
			at = &event.moved
			require.NotEmpty(t, event.placed, "order %d is moved before it is placed", id)
		}
		require.Contains(t, []string{"", a.Header.Get("Webhook-Id")}, *at, "order %d is reported under two ids", id)
		*at = a.Header.Get("Webhook-Id")
		arrived[id] = event
	}
	require.Len(t, arrived, len(ids))
	for _, id := range ids {
		require.NotEmpty(t, arrived[id].placed)
		require.NotEmpty(t, arrived[id].moved, "order %d", id)
		record, err := orders.New(late).Get(ctx, k.business, "", id)
		require.NoError(t, err)
		require.Equal(t, order.Acknowledged, record.State)
	}

	started := hubtest.Open(t, url, nil)
	require.NoError(t, started.SyncClock(ctx))
	ahead, _, err := schema.PartitionsAhead(ctx, started)
	require.NoError(t, err)
	require.GreaterOrEqual(t, ahead, 6)
	require.Contains(t, partitionOf(t, started, eventAt(t, started, started.Clock().Now())),
		time.Now().UTC().Format("20060102"))
}
