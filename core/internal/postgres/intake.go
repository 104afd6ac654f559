package postgres

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
)

// Intake stores orders in company: those that come while a transaction is under
// way are stored by the next one, all together.
type Intake struct {
	db     *DB
	pantry pantry
	ids    orderIDs
	rounds rounds[order.Arrival, order.Receipt]
}

// Bounds of the intake: transactions at a time, orders in one, orders that wait.
// A second transaction beside another is worth its while only for a crowd.
const (
	intakeBeside  = 2
	intakeCrowd   = 32
	intakeSize    = 128
	intakeWaiting = 8192
)

// NewIntake makes an intake; Close ends it.
func NewIntake(db *DB) *Intake {
	i := &Intake{db: db}
	i.rounds = rounds[order.Arrival, order.Receipt]{ask: i.store, beside: intakeBeside, crowd: intakeCrowd, size: intakeSize, waiting: intakeWaiting}
	return i
}

// Close takes no more orders and returns when those that were taken are stored.
func (i *Intake) Close() { i.rounds.close() }

// Waiting is how many orders wait in this replica to be stored.
func (i *Intake) Waiting() int { return i.rounds.depth() }

// Place stores an order with its event; both are durable when it returns. An
// order that is known by its platform_order_id keeps its id and has no second
// event. NotFound names a platform or store that the business does not have,
// Invalid a price that nobody knows; Unavailable says that nothing was stored.
func (i *Intake) Place(ctx context.Context, arrival order.Arrival) (order.Receipt, error) {
	arrival.Trace = core.TraceOf(ctx)
	return i.rounds.put(ctx, arrival)
}

// store stores a round of orders. What the database refuses as a whole is tried
// one by one, so that no order fails for another.
func (i *Intake) store(ctx context.Context, arrivals []order.Arrival) []verdict[order.Receipt] {
	return apart(arrivals, func(arrivals []order.Arrival) ([]verdict[order.Receipt], error) { return i.commit(ctx, arrivals) })
}

func (i *Intake) commit(ctx context.Context, arrivals []order.Arrival) ([]verdict[order.Receipt], error) {
	b := &intakeBatch{ctx: ctx, db: i.db, pantry: &i.pantry, ids: &i.ids, arrivals: arrivals, verdicts: make([]verdict[order.Receipt], len(arrivals))}
	err := i.db.tell(ctx, func(tx bun.Conn, box *outbox) error {
		b.tx = tx
		if err := b.read(); err != nil {
			return err
		}
		if err := b.place(); err != nil {
			return err
		}
		receivers, err := i.db.targets(ctx, tx, b.events())
		if err != nil {
			return err
		}
		if err := b.insert(receivers); err != nil {
			return err
		}
		if err := b.settle(); err != nil {
			return err
		}
		if err := box.call(ctx, tx, b.acknowledgements()); err != nil {
			return err
		}
		return box.publishTo(ctx, tx, receivers, b.events())
	})
	if err != nil {
		return nil, fmt.Errorf("storing %d orders: %w", len(arrivals), err)
	}
	b.meetCancellations()
	return b.verdicts, nil
}
