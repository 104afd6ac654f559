package text

// Texts of comparisons.
const (
	DiffTitle    = "Differences"
	DiffNone     = "There are no differences."
	DiffTooLarge = "They are too large to compare here. Download both and compare them."
	DiffTooMany  = "More than 1000 lines differ. Download both and compare them."
	DiffPrevious = "Compare with the previous event"
	DiffNoBefore = "The latest 50 deliveries of this webhook have none before it for the same object."
	DiffJob      = "Compare with the request"
	DiffJobNote  = "This compares only the objects that were submitted, without results and counts."
	DiffEarlier  = "Before, sent %s"
	DiffThis     = "This one, sent %s"
	DiffSent     = "Submitted"
	DiffGot      = "Result"
	DiffWas      = "Before"
	DiffIs       = "After"
	AuditEntry   = "Audit trail entry"
)
