package webhook

import (
	"maps"
	"sync"
	"time"
)

// versions holds the versions of webhooks that changed lately. A delivery that was read before must not start with the
// old settings.
type versions struct {
	mu        sync.Mutex
	byWebhook map[int64]version // by webhook, which is its own endpoint
}

type version struct {
	number int64
	until  time.Time // deliveries read before have lost their leases by then
}

// set notes the version of a webhook that changed, until the given time. It forgets versions whose time is over.
func (v *versions) set(webhook, number int64, now, until time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	maps.DeleteFunc(v.byWebhook, func(_ int64, old version) bool { return old.until.Before(now) })
	v.byWebhook[webhook] = version{max(number, v.byWebhook[webhook].number), until}
}

// isStale reports whether the webhook of a delivery has changed since the delivery was read.
func (v *versions) isStale(d Delivery) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return d.Version < v.byWebhook[d.Endpoint].number
}
