package webhook

import (
	"sync"

	"github.com/servery-hub/servery/core"
)

// bodies holds the large bodies of a replica: one for each event, however many endpoints it goes to.
type bodies struct {
	limit int

	mu      sync.Mutex
	byEvent map[core.ID]*body // by event
	bytes   int               // of all
	limited bool              // the last claim could not take all
}

type body struct {
	bytes      []byte
	deliveries int
}

// free returns how many bytes a claim may take. The last body of a claim may exceed it.
func (b *bodies) free() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.limited = b.bytes > 0
	return max(0, b.limit-b.bytes)
}

// retain counts the body of a delivery and shares it with the other deliveries of its event.
func (b *bodies) retain(d *Delivery) {
	if len(d.Body) <= LargeBody {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.byEvent[d.EventID]
	if one == nil {
		one = &body{bytes: d.Body}
		b.byEvent[d.EventID] = one
		b.bytes += len(d.Body)
	}
	one.deliveries++
	d.Body = one.bytes
}

// release undoes one hold and drops the body after the last one. It reports whether a claim waits for its bytes.
func (b *bodies) release(d Delivery) bool {
	if len(d.Body) <= LargeBody {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.byEvent[d.EventID]
	if one.deliveries--; one.deliveries > 0 {
		return false
	}
	delete(b.byEvent, d.EventID)
	b.bytes -= len(one.bytes)
	return b.limited
}
