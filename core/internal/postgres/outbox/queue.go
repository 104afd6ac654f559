package outbox

import (
	"time"

	"github.com/servery-hub/servery/core"
)

// QueueRow is a row of the delivery queue.
type QueueRow struct {
	BusinessID    core.BusinessID `bun:"business_id"`
	ID            core.ID         `bun:"id,type:uuid"`
	EventID       core.ID         `bun:"event_id,type:uuid"`
	WebhookID     int64           `bun:"webhook_id"`
	URL           string          `bun:"url"`
	Endpoint      int64           `bun:"endpoint"`
	Attempts      int             `bun:"attempts"`
	PriorAttempts int             `bun:"prior_attempts"`
	DueAt         time.Time       `bun:"due_at"`
	OrderingKey   int64           `bun:"ordering_key"`
	Sequence      int             `bun:"sequence"`
	Manual        bool            `bun:"manual"`
	Lease         int64           `bun:"lease"`
	Probe         bool            `bun:"probe"`
	StartAt       time.Time       `bun:"start_at"` // when it may start

	// Set by Block for rows that may have earlier rows.
	Blocked        bool  `bun:"blocked"`
	WebhookVersion int64 `bun:"webhook_version"` // of the webhook whose server was checked; 0 if there is none
}
