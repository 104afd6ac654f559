package plugintest

import "time"

// Only limits the suite to one check and the final check for leftovers.
func (o Options) Only(check string) Options {
	o.only = check
	return o
}

// CancelWhen sets what cancels a call with its whole menu.
func (o Options) CancelWhen(begun <-chan struct{}) Options {
	o.cancelWhen = begun
	return o
}

// EndMenuWithin sets the maximum time of a check with a menu that is under way.
func (o Options) EndMenuWithin(d time.Duration) Options {
	o.menuTimeout = d
	return o
}

// Leftovers returns an error if processes or files of a stopped program are left.
func (r *Running) Leftovers() error { return r.leftovers() }
