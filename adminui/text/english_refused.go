package text

// Words of what was refused: orders, and calls of aggregators.
const (
	RefusedOrders     = "Refused orders"
	RefusedOrdersNote = "The latest 500 that were not taken"
	RefusedOrder      = "Refused order"
	RefusedAt         = "Last refused"
	RefusedFirst      = "First"
	RefusedTimes      = "Times"
	RefusedWhy        = "Why"
	RefusedStore      = "Store as it was named"
	RefusedStoreHint  = "as it was named"
	RefusedID         = "Order id"
	RefusedIDHint     = "of the platform"
	RefusedUnreadable = "not readable"
	RefusedCame       = "Came later"
	NotTaken          = "Not taken"
	NoRefusedTitle    = "No refused orders"
	NoRefusedText     = "No order was refused for what is wrong with it, as far back as they are kept."
	CauseNotTaken     = "Orders that were refused and did not come since: %s, the last at %s: %s."
	RemedyNotTaken    = "Whoever brought them has the same words in the answer. Once it is mended they have to be " +
		"brought again."
	ActSeeRefused    = "See the refused orders"
	LastRefusedCall  = "Last refused call"
	LastRefusedNone  = "none is known"
	KeysNoneNote     = "the aggregator cannot call the hub"
	KeysNotNeeded    = "not needed: its calls are proved by a secret"
	CallbackProved   = "proved by the secret %s, in the header %s"
	CallbackUnproved = "refused while the secret %s is not set, by which the header %s is proved"
)
