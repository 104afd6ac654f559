package text

// Words about what a page shows and what it leaves out: filters that cannot be read,
// lists that are cut, what a row is about, how fresh it is.
const (
	FilterWrong   = "The filter cannot be read"
	FilterState   = "Deliveries have no state %q."
	FilterWebhook = "A webhook is named by the number of its id, not by %q."
	AgainState    = "Only what was delivered or given up can be sent again."

	CSVCut  = "These are the first %s rows, and there are more: narrow the list by its filters."
	OrderOf = "Order %d"
	RowMade = "%s, %s, made %s"

	MoreWebhooks   = "Of webhooks, %s more causes are not shown here: the lists of webhooks have them."
	MoreJobs       = "Of jobs, %s more that failed are not shown here: the lists of jobs have them."
	UnknownNumber  = "an unknown number of"
	MoreBusinesses = "%s businesses are shown here, and there are more: search for them by name."
	MorePlatforms  = "%d of %d platforms are shown here: the page of a store has all."
	MoreHits       = "Of each kind %d are shown, and there are more: search for more of the name, or for an id."
	MoreByName     = "And more: search by name"

	NotConnected = "Not connected since %s: what you see may be old."
	AsOf         = "%s As of %s."
	Copy         = "Copy"

	SecretsAnew = "What you typed is still here, but for secrets: type them again."
	SessionLost = "You were signed out, so nothing was done. Sign in to go back to the page, and do it again."
)
