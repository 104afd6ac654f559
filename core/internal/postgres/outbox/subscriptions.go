package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/cache"
)

// maxSubscribed bounds the bytes of the cached routes, about 50,000 with one webhook each.
const maxSubscribed = 64 << 20

// subscriptions caches the targets of event types.
type subscriptions struct {
	cache cache.Cache[Route, subscribers]
}

// subscribers are the active webhooks of an event type.
type subscribers struct {
	targets []Target
	until   time.Time // when the first earlier secret expires; zero if there is none
}

func boundSubscriptions(c *cache.Cache[Route, subscribers]) {
	c.Max, c.Size = maxSubscribed, subscribers.size
}

// size returns about how many bytes of memory the subscribers of a route take.
func (s subscribers) size() int {
	const route, target, header = 256, 512, 64 // bytes beside the texts
	size := route
	for _, t := range s.targets {
		size += target + len(t.URL) + len(t.Headers) + len(t.Secret) + len(t.PreviousSecret) + len(t.PreviousSecret2)
		for name, value := range t.headers {
			size += header + len(name) + len(value)
		}
	}
	return size
}

// find adds the cached targets of a route. It reports whether they may be used.
func (s *subscriptions) find(db *postgres.DB, r Route, stale cache.Stale, into *receivers) bool {
	found, known := s.cache.Get(r)
	if !known || stale[cache.Check{Business: r.Business, Snapshot: found.Snapshot}] ||
		!found.Value.until.IsZero() && !found.Value.until.After(db.Clock().Now()) {
		return false
	}
	into.targets[r] = found.Value.targets
	into.checks.Add(r.Business, found.Snapshot)
	return true
}

// subscribedTarget is a target of an event type, as read.
type subscribedTarget struct {
	foundTarget
	Snapshot    string `bun:"snapshot"`
	Uncommitted bool   `bun:"uncommitted"`
}

// readSubscribed reads the targets of event types, and caches them. It does not cache them after an uncommitted change,
// or without a snapshot.
func (o *Outbox) readSubscribed(ctx context.Context, tx bun.IDB, into *receivers, routes []Route) error {
	if len(routes) == 0 {
		return nil
	}
	businesses, types := make([]int64, len(routes)), make([]string, len(routes))
	for i, r := range routes {
		businesses[i], types[i] = int64(r.Business), string(r.EventType)
	}
	var rows []subscribedTarget
	if err := tx.NewRaw(queries.With("subscribed_targets", postgres.Args{
		"businesses": postgres.Array(businesses), "types": postgres.Array(types),
	})).Scan(ctx, &rows); err != nil {
		return fmt.Errorf("finding the receivers of events: %w", err)
	}
	read := map[Route]*cache.Entry[subscribers]{}
	now := o.db.Clock().Now()
	for i := range rows {
		row := &rows[i]
		entry := read[row.Route]
		if entry == nil {
			entry = &cache.Entry[subscribers]{Snapshot: row.Snapshot}
			read[row.Route] = entry
		}
		if row.Uncommitted {
			entry.Snapshot = ""
		}
		if row.ID == 0 {
			continue // no webhook
		}
		Decrypt(o.db, row.Business, &row.Target)
		entry.Value.targets = append(entry.Value.targets, row.Target)
		for _, ends := range []time.Time{row.PreviousSecretEnds, row.PreviousSecret2Ends} {
			if ends.After(now) && (entry.Value.until.IsZero() || ends.Before(entry.Value.until)) {
				entry.Value.until = ends
			}
		}
	}
	for r, entry := range read {
		into.targets[r] = entry.Value.targets
		if entry.Snapshot != "" {
			into.checks.Add(r.Business, entry.Snapshot)
			o.replica.subscriptions.cache.Put(r, *entry)
		}
	}
	return nil
}

// Refresh reads the targets of an event type that are not cached, or known to be stale.
func Refresh(ctx context.Context, db *postgres.DB, event core.EventType, businesses []core.BusinessID,
	stale cache.Stale) error {
	box := &Outbox{db: db, replica: replicaOf(db)}
	events := make([]core.Event, len(businesses))
	for i, business := range businesses {
		events[i] = core.Event{Business: business, Type: event}
	}
	_, err := box.targets(ctx, db.Keyed(), events, stale)
	return err
}
