package outbox

import (
	"context"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/internal/postgres"
)

// notifyInterval is the least time between notifications of this replica on a channel, because NOTIFY serializes
// commits.
const notifyInterval = 50 * time.Millisecond

// notifier sends the notifications of this replica. One that comes too soon is sent later, in no transaction.
type notifier struct {
	db     *postgres.DB
	ctx    context.Context
	cancel context.CancelFunc
	late   sync.WaitGroup

	mu      sync.Mutex
	last    map[string]time.Time
	pending map[string]bool
}

func notifierOf(db *postgres.DB) *notifier {
	return postgres.StateOf(db, func(db *postgres.DB) *notifier {
		ctx, cancel := context.WithCancel(context.Background())
		return &notifier{db: db, ctx: ctx, cancel: cancel, last: map[string]time.Time{}, pending: map[string]bool{}}
	})
}

// Close waits for the notification that is being sent. Others are dropped: replicas look at the queues now and then.
func (n *notifier) Close() {
	n.mu.Lock()
	n.cancel() // no other begins
	n.mu.Unlock()
	n.late.Wait()
}

// Notify wakes the workers of all replicas for a queue when the transaction commits. If another notification was
// sent just before, it does so soon after this call. Workers that are woken before the commit look again in seconds.
func Notify(ctx context.Context, db *postgres.DB, tx bun.IDB, channel string) error {
	n := notifierOf(db)
	if n.allow(channel) {
		return postgres.Notify(ctx, tx, channel)
	}
	n.later(channel)
	return nil
}

// NotifyLater wakes the workers of all replicas for a queue soon. Call it after the commit.
func NotifyLater(db *postgres.DB, channel string) { notifierOf(db).later(channel) }

// allow reports whether a notification may be sent now.
func (n *notifier) allow(channel string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	if now.Sub(n.last[channel]) < notifyInterval {
		return false
	}
	n.last[channel] = now
	return true
}

// later sends a notification when the interval is over, one for all calls until then.
func (n *notifier) later(channel string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pending[channel] || n.ctx.Err() != nil {
		return
	}
	n.pending[channel] = true
	n.late.Go(func() { n.send(channel) })
}

// sendTimeout bounds a notification in no transaction.
const sendTimeout = 5 * time.Second

// send sends a notification after the interval. Replicas look at the queues now and then if that fails.
func (n *notifier) send(channel string) {
	cancelled := postgres.Pause(n.ctx, notifyInterval)
	n.mu.Lock()
	n.pending[channel], n.last[channel] = false, time.Now()
	n.mu.Unlock()
	if cancelled != nil {
		return
	}
	ctx, cancel := context.WithTimeout(n.ctx, sendTimeout)
	defer cancel()
	// Not by bun, whose query hooks are for statements of callers.
	_, err := n.db.Bun().DB.ExecContext(ctx, postgres.Formatter.FormatQuery(`SELECT pg_notify(?, '')`, channel))
	if err != nil && n.ctx.Err() == nil {
		n.db.Log().Debug("notification failed", "channel", channel, "error", err)
	}
}
