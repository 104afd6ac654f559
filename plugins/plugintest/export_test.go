package plugintest

import "time"

// Only limits the suite to one check and the final check for leftovers.
func (o Options) Only(check string) Options {
	o.only = check
	return o
}

// CancelAfter sets how long a call with its whole menu runs before it is cancelled.
func (o Options) CancelAfter(d time.Duration) Options {
	o.cancelDelay = d
	return o
}

// EndMenuWithin sets the maximum time of a check with a menu that is under way.
func (o Options) EndMenuWithin(d time.Duration) Options {
	o.menuTimeout = d
	return o
}

// Leftovers returns an error if processes or files of a stopped program are left.
func (r *Running) Leftovers() error { return r.leftovers() }
