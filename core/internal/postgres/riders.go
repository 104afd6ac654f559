package postgres

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
)

// Riders takes statuses and places of riders in company, as Intake does orders.
type Riders struct {
	db       *DB
	statuses rounds[order.RiderUpdate, bool]
	places   rounds[order.RiderLocation, struct{}]
}

// Bounds of a round of statuses and of one of places.
const (
	riderBeside  = 2
	riderCrowd   = 16
	statusSize   = 128
	placeSize    = 512
	riderWaiting = 8192
)

// NewRiders makes Riders; Close ends them.
func NewRiders(db *DB) *Riders {
	r := &Riders{db: db}
	r.statuses = rounds[order.RiderUpdate, bool]{ask: r.takeStatuses, beside: riderBeside, crowd: riderCrowd, size: statusSize, waiting: riderWaiting}
	r.places = rounds[order.RiderLocation, struct{}]{ask: r.takePlaces, beside: riderBeside, crowd: riderCrowd, size: placeSize, waiting: riderWaiting}
	return r
}

// Close takes no more and returns when what was taken is stored.
func (r *Riders) Close() {
	r.statuses.close()
	r.places.close()
}

// Waiting is how many statuses and places of riders wait in this replica to be stored.
func (r *Riders) Waiting() (statuses, places int) { return r.statuses.depth(), r.places.depth() }

// Update stores a status with its event and, where the platform is served by a
// plugin, its relay; all are durable when it returns. It tells whether the status
// changed anything. NotFound where the business has no such order, else as
// order.Ride.Take.
func (r *Riders) Update(ctx context.Context, update order.RiderUpdate) (bool, error) {
	update.Trace = core.TraceOf(ctx)
	return r.statuses.put(ctx, update)
}

// Locate stores where a rider is, to be relayed where the platform is served by
// a plugin. NotFound where the business has no such order, Invalid where it is
// not self-delivery.
func (r *Riders) Locate(ctx context.Context, location order.RiderLocation) error {
	_, err := r.places.put(ctx, location)
	return err
}

func (r *Riders) takeStatuses(ctx context.Context, updates []order.RiderUpdate) []verdict[bool] {
	return apart(updates, func(updates []order.RiderUpdate) ([]verdict[bool], error) {
		b := &riderBatch{ctx: ctx, db: r.db, updates: updates, verdicts: make([]verdict[bool], len(updates))}
		err := r.db.tell(ctx, func(tx bun.Conn, box *outbox) error {
			b.tx = tx
			if err := b.read(); err != nil {
				return err
			}
			if err := b.take(); err != nil {
				return err
			}
			if err := b.write(); err != nil {
				return err
			}
			if err := box.call(ctx, tx, b.calls); err != nil {
				return err
			}
			return box.publish(ctx, tx, b.events...)
		})
		if err != nil {
			return nil, fmt.Errorf("storing %d statuses of riders: %w", len(updates), err)
		}
		return b.verdicts, nil
	})
}

// platformEndpoint is what fairness among calls goes by: one for each platform
// of a business.
func platformEndpoint(business core.BusinessID, platform string) int64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", business, platform)
	return int64(h.Sum64())
}
