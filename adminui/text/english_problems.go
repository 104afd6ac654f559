package text

// Words of what does not come through: calls, orders and requests.
const (
	CauseCallsRefused = "%s did not take all that it was told in the last 24 hours: %s; the last at %s: %s."
	OneAcknowledgment = "1 acknowledgement of an order"
	Acknowledgements_ = "%s acknowledgements of orders"
	OneOrderState     = "1 state of an order"
	OrderStates_      = "%s states of orders"
	OneRiderStatus    = "1 status of a rider"
	RiderStatuses_    = "%s statuses of riders"
	OneAction         = "1 action"
	Actions_          = "%s actions"
	OneShortage       = "1 word of items out of stock"
	Shortages_        = "%s words of items out of stock"
	OneStoreSwitch    = "1 switch of a store"
	StoreSwitches_    = "%s switches of stores"
	OneItemSwitch     = "1 switch of items"
	ItemSwitches_     = "%s switches of items"
	OneCall           = "1 call of kind %s"
	Calls_            = "%[2]s calls of kind %[1]s"
	Untaken           = "Not taken by its platform"

	CauseUntold = "Orders that nobody was told of: %s, the last at %s. No webhook was there for order_placed when " +
		"they came."
	RemedyUntold   = "Those of today can still be sent, all at once, where they are listed."
	RemedyUntoldOn = "No webhook is there now either: subscribe or resume one first. Those of today can then still " +
		"be sent, where they are listed."
	Untold     = "Nobody was told"
	TellOrders = "Send today's now"
	TellSay    = "Orders of today that nobody was told of: %s. They go to the webhooks that are switched on for " +
		"order_placed, as by an order retry since %s; so does every other order since then that no webhook has " +
		"accepted."
	TellNone = "Of today there is no order that nobody was told of, so nothing was done."

	ClosedHere   = "Closed on platforms"
	GridShut     = "Closed"
	MenuNotTaken = "Menu refused"

	FilterOrder    = "An order is named by the number of its id, not by %q."
	FilterMoment   = "A moment is a day and a time, such as 2026-11-21T12:00, not %q."
	FilterSpan     = "The first of two moments must be before the second."
	MadeFrom       = "Made from (%s)"
	MadeBefore     = "Made before (%s)"
	AgainFrom      = "Made from"
	AgainTo        = "Made before"
	AgainBeginning = "all that are kept"

	NothingMatches     = "Nothing matches"
	NothingMatchesText = "Clear the filters to see all."
	NoSyncsTitle       = "No menu requests"
	NoSyncsText        = "The POS has sent no menu for this store alone. An item comes to a store when a menu " +
		"request for that store names it."

	CauseTaken = "On the platforms: %s."
	Taken      = "%s has the menu of %s"
	TakenNot   = "%s refused the menu of %s: %s"
	TakenLater = "%s has yet to be told of the menu of %s"

	CauseJobsRefused = "Requests of the last 24 hours of which half or more was refused: %s. The last, %s: not " +
		"applied %s of %s."
	DoneRefused    = "Done, with refusals"
	ActSeeRequests = "See the requests"
)
