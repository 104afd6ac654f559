package plugintest

// Only has the suite run one check, besides looking for what is left behind.
func (o Options) Only(check string) Options {
	o.only = check
	return o
}
