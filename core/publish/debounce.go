package publish

import (
	"cmp"
	"time"
)

// Debounce says when changes are published: when none has come for Quiet, but at
// most Most after the first.
type Debounce struct {
	Quiet time.Duration // 2 s
	Most  time.Duration // 15 s
}

// OrDefault is the debounce with its defaults for what is zero.
func (d Debounce) OrDefault() Debounce {
	return Debounce{Quiet: cmp.Or(d.Quiet, 2*time.Second), Most: cmp.Or(d.Most, 15*time.Second)}
}

// Due is when changes are due of which the first and the latest came then.
func (d Debounce) Due(first, latest time.Time) time.Time {
	quiet, most := latest.Add(d.Quiet), first.Add(d.Most)
	if most.Before(quiet) {
		return most
	}
	return quiet
}
