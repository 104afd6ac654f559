package publish

import (
	"cmp"
	"time"
)

// Debounce sets when changes are published: after Quiet without another change, and at most Max after the first.
type Debounce struct {
	Quiet time.Duration // 2 s
	Max   time.Duration // 15 s
}

// OrDefault returns the debounce with defaults for zero fields.
func (d Debounce) OrDefault() Debounce {
	return Debounce{Quiet: cmp.Or(d.Quiet, 2*time.Second), Max: cmp.Or(d.Max, 15*time.Second)}
}

// Due returns when changes are due, given the times of the first and the latest.
func (d Debounce) Due(first, latest time.Time) time.Time {
	quiet, latestDue := latest.Add(d.Quiet), first.Add(d.Max)
	if latestDue.Before(quiet) {
		return latestDue
	}
	return quiet
}
