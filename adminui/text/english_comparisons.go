package text

// Texts of comparisons.
const (
	DiffTitle    = "Differences"
	DiffNone     = "There are no differences."
	DiffTooLarge = "They are too large to compare here. Download both and compare them."
	DiffTooMany  = "More than 1000 lines differ. Download both and compare them."
	DiffShow     = "Choose what to compare"
	DiffDo       = "Compare"
	DiffSelect   = "Select a content"
	DiffChoose   = "Select two contents to compare."
	DiffNoBefore = "The latest 50 deliveries of this webhook have none before it for the same object."
	DiffJobNote  = "This compares only the objects that were submitted, without results and counts."
	DiffEarlier  = "Previous delivery, %s"
	DiffWebhook  = "webhook %d"
	DiffThis     = "This delivery, %s"
	DiffEvent    = "%s to %s, %s"
	DiffResponse = "Response to attempt %d"
	DiffCall     = "%s, attempt %d, %s: %s"
	DiffRequest  = "request"
	DiffAnswer   = "response"
	DiffSent     = "Submitted"
	DiffGot      = "Result"
	DiffRun      = "%s of the run at %s"
	DiffWas      = "Before"
	DiffIs       = "After"
	AuditEntry   = "Audit trail entry"
)
