package outbox

import (
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/webhook"
)

// Starter starts first attempts in the replica that commits the deliveries (webhook.Engine).
type Starter interface {
	Owner() core.ID
	LeaseUntil() time.Time
	Reserve(endpoint int64) bool
	CancelReservation(endpoint int64)
	Start(d webhook.Delivery)
	Invalidate(webhook, version int64)
	Wake()
}

// replica is the outbox's state in this replica.
type replica struct {
	starter   Starter // nil if this replica sends no deliveries
	wakeCalls func()  // nil if this replica makes no calls
	unrouted  unroutedCounts

	subscriptions subscriptions
}

func replicaOf(db *postgres.DB) *replica {
	return postgres.StateOf(db, func(*postgres.DB) *replica {
		r := &replica{}
		boundSubscriptions(&r.subscriptions.cache)
		return r
	})
}

// UseStarter sets the engine that starts first attempts in this replica.
func UseStarter(db *postgres.DB, s Starter) { replicaOf(db).starter = s }

// UseRelay sets the function that wakes this replica's relay after calls were queued here.
func UseRelay(db *postgres.DB, wake func()) { replicaOf(db).wakeCalls = wake }

// Wake makes this replica check the delivery queue, or others soon if it sends no deliveries.
func Wake(db *postgres.DB) {
	if starter := replicaOf(db).starter; starter != nil {
		starter.Wake()
		return
	}
	NotifyLater(db, DeliveriesChannel)
}
