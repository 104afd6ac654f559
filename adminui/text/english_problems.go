package text

// Texts of calls, orders and requests that failed.
const (
	CauseCallsFailed    = "%s did not accept some updates in the last 24 hours: %s. The last failed %s: %s."
	OneAcknowledgment   = "1 order acknowledgement"
	Acknowledgements_   = "%s order acknowledgements"
	OneOrderState       = "1 order status"
	OrderStates_        = "%s order statuses"
	OneRiderStatus      = "1 rider status"
	RiderStatuses_      = "%s rider statuses"
	OneAction           = "1 action"
	Actions_            = "%s actions"
	OneOutOfStockReport = "1 report of items out of stock"
	OutOfStockReports_  = "%s reports of items out of stock"
	OneStoreSwitch      = "1 store opened or closed"
	StoreSwitches_      = "%s stores opened or closed"
	OneItemSwitch       = "1 update of item availability"
	ItemSwitches_       = "%s updates of item availability"
	OneCall             = "1 call of kind %s"
	Calls_              = "%[2]s calls of kind %[1]s"
	RejectedByPlatform  = "Update rejected by its platform"

	OneOrder           = "1 order"
	Orders_            = "%s orders"
	CauseUnnotified    = "The POS has not received %s, the last of %s. No webhook was active for order_placed."
	RemedyUnnotified   = "View the orders. There you can send those of today, all at once."
	RemedyUnnotifiedOn = "No webhook is active now either: subscribe or resume one first. Then view the orders and send " +
		"those of today."
	Unnotified     = "Not sent to the POS"
	SendOrders     = "Send today's orders"
	SendOrdersHelp = "This sends %s of today to the active webhooks for order_placed. Like an order retry since %s, it " +
		"also sends later orders that no webhook has accepted."
	SendOrdersNone = "Nothing was done, because every order of today was sent."

	ClosedHere   = "Closed on platforms"
	GridShut     = "Closed"
	MenuRejected = "Menu rejected"

	FilterOrder         = "%q is not the id of an order. Enter a number."
	FilterMoment        = "%q is not a time. Enter it like 2026-11-21T12:00."
	FilterSpan          = "The first time must be before the second."
	CreatedFrom         = "Created from (%s)"
	CreatedBefore       = "Created before (%s)"
	BulkResendFrom      = "Created from"
	BulkResendTo        = "Created before"
	BulkResendBeginning = "all that are stored"

	NothingMatches     = "Nothing matches"
	NothingMatchesText = "Clear the filters to see all."
	NoSyncsTitle       = "No menu requests"
	NoSyncsText        = "The POS has sent no separate menu for this store. A store sells an item once a menu request " +
		"for the store has it."

	CausePublished = "On the platforms: %s."
	MenuPublished  = "%s shows the latest menu of %s"
	MenuRejectedBy = "%s rejected the menu of %s: %s"
	MenuPending    = "%s has not received the menu of %s yet"

	OneRequest            = "1 request"
	Requests_             = "%s requests"
	CauseJobsPartlyFailed = "In %s of the last 24 hours, at least half of the content failed. Last request: %s, %s " +
		"of %s failed."
	DoneWithErrors = "Done, with errors"
	ActSeeRequests = "View requests"
)
