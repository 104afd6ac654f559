package text

// Words of comparisons.
const (
	DiffTitle    = "What differs"
	DiffNone     = "There is no difference."
	DiffTooLarge = "They are too large to be compared here. Download both and compare them."
	DiffTooMany  = "More than a thousand lines differ: that is another content rather than a change. Download both " +
		"to compare them."
	DiffPrevious = "Compare with the one before"
	DiffNoBefore = "No earlier delivery about the same was found among the latest fifty of this webhook."
	DiffJob      = "Compare with what was submitted"
	DiffJobNote  = "Of what came back only what was submitted is compared: the outcome of each object and the " +
		"counts are left out."
	DiffEarlier = "Before, sent %s"
	DiffThis    = "This one, sent %s"
	DiffSent    = "Submitted"
	DiffGot     = "Resulting"
	DiffWas     = "Before"
	DiffIs      = "After"
	AuditEntry  = "Entry of the audit trail"
)
