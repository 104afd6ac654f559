package publish

import "time"

// Debounce says when changes are published: when none has come for Quiet, but at
// most Most after the first.
type Debounce struct {
	Quiet time.Duration // 2 s
	Most  time.Duration // 15 s
}

// OrDefault is the debounce with its defaults for what is zero.
func (d Debounce) OrDefault() Debounce {
	if d.Quiet == 0 {
		d.Quiet = 2 * time.Second
	}
	if d.Most == 0 {
		d.Most = 15 * time.Second
	}
	return d
}

// Due is when changes are due of which the first and the latest came then.
func (d Debounce) Due(first, latest time.Time) time.Time {
	quiet, most := latest.Add(d.Quiet), first.Add(d.Most)
	if most.Before(quiet) {
		return most
	}
	return quiet
}
