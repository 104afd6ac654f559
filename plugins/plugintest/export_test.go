package plugintest

// Only limits the suite to one check and the final check for leftovers.
func (o Options) Only(check string) Options {
	o.only = check
	return o
}
