package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	callsdb "github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/relay"
)

// riderHarness is a menuHarness with riders. A plugin serves its platform b.
type riderHarness struct {
	*menuHarness
	clock  *clocktest.Clock
	riders *orders.Riders
	calls  callsdb.Store
	placed int
}

func newRiderHarness(t *testing.T) *riderHarness {
	t.Helper()
	return newRiderHarnessOn(t, hubtest.DatabaseURL(t))
}

// newRiderHarnessOn is newRiderHarness on an empty database.
func newRiderHarnessOn(t *testing.T, address string) *riderHarness {
	t.Helper()
	clock := clocktest.New()
	db := hubtest.Open(t, address, clock)
	d := &riderHarness{menuHarness: newMenuHarness(t, db, "US"), clock: clock, riders: orders.NewRiders(db),
		calls: callsOf(db)}
	t.Cleanup(d.riders.Close)
	d.store("s1")
	d.servedBy("b", "aggregator-b")
	return d
}

func (d *riderHarness) servedBy(platform, plugin string) {
	d.t.Helper()
	pgtest.Exec(d.t, d.db, `INSERT INTO platforms (business_id, name, served_by) VALUES (?, ?, ?)`, d.business,
		platform, plugin)
}

// order places a self-delivery order, deletes its acknowledgement call and returns its id.
func (d *riderHarness) order(platform, more string) int64 {
	d.t.Helper()
	d.placed++
	if more == "" {
		more = `,"delivery_type":"self"`
	}
	receipts, failures := pgtest.PlaceBatch(context.Background(), newIntake(d.t, d.db),
		d.arrival(fmt.Sprint("R-", d.placed), platform, oneCurry, more))
	require.NoError(d.t, failures[0])
	pgtest.Exec(d.t, d.db,
		`WITH deleted AS (DELETE FROM calls WHERE kind = 'order_acknowledge') DELETE FROM call_queue
			WHERE kind = 'order_acknowledge'`)
	return receipts[0].OrderID
}

func (d *riderHarness) update(id int64, status order.RiderStatus, rider order.Rider) order.RiderUpdate {
	return order.RiderUpdate{Business: d.business, Actor: "key:pos", OrderID: id, Status: status, Rider: rider}
}

func (d *riderHarness) send(id int64, status order.RiderStatus, rider order.Rider) error {
	d.clock.Advance(time.Millisecond)
	_, err := d.riders.Update(context.Background(), d.update(id, status, rider))
	return err
}

func (d *riderHarness) place(id int64, latitude string) error {
	d.clock.Advance(time.Millisecond)
	return d.riders.UpdateLocation(context.Background(),
		order.RiderLocation{Business: d.business, OrderID: id, Latitude: latitude, Longitude: "2",
			SeenAt: d.clock.Now()})
}

// claim claims as a replica of the owner would.
func (d *riderHarness) claim(owner core.ID) []relay.Call {
	d.t.Helper()
	batch, err := d.calls.Claim(context.Background(), owner, queue.Capacity{Items: 100, OtherKeys: 100},
		d.clock.Now().Add(20*time.Second))
	require.NoError(d.t, err)
	return batch.Items
}

func (d *riderHarness) finish(owner core.ID, results ...relay.Result) {
	d.t.Helper()
	require.NoError(d.t, d.calls.Finish(context.Background(), owner, results))
}

func (d *riderHarness) done(c relay.Call) relay.Result {
	return relay.Result{Call: c, State: relay.Done, FinishedAt: d.clock.Now(),
		Attempt: &relay.Attempt{StartedAt: d.clock.Now(), Status: 200}}
}

func (d *riderHarness) retried(c relay.Call, after time.Duration) relay.Result {
	return relay.Result{Call: c, State: relay.Waiting, Message: "status 500", FinishedAt: d.clock.Now(),
		RetryAt: d.clock.Now().Add(after),
		Attempt: &relay.Attempt{StartedAt: d.clock.Now(), Status: 500, ErrorClass: "status", Error: "status 500"}}
}

func payloads(calls []relay.Call) []string {
	list := []string{}
	for _, c := range calls {
		list = append(list, string(c.Payload))
	}
	return list
}

var me, other = core.ID{1}, core.ID{2}
