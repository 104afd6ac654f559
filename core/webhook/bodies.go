package webhook

import "github.com/servery-hub/servery/core"

// bodies are the large ones that a replica holds: one of each event, however many
// endpoints it goes to.
type bodies struct {
	of    map[core.ID]*body // by event
	bytes int               // of all
}

type body struct {
	bytes      []byte
	deliveries int
}

// hold counts the body of a delivery, and shares it with the others of its event.
func (b *bodies) hold(d *Delivery) {
	if len(d.Body) <= LargeBody {
		return
	}
	one := b.of[d.EventID]
	if one == nil {
		one = &body{bytes: d.Body}
		b.of[d.EventID] = one
		b.bytes += len(d.Body)
	}
	one.deliveries++
	d.Body = one.bytes
}

// letGo forgets the body of a delivery that hold counted.
func (b *bodies) letGo(d Delivery) {
	if len(d.Body) <= LargeBody {
		return
	}
	one := b.of[d.EventID]
	if one.deliveries--; one.deliveries == 0 {
		delete(b.of, d.EventID)
		b.bytes -= len(one.bytes)
	}
}
