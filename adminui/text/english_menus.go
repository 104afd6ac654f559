package text

// Texts of menus as they were sent to platforms.
const (
	LastSent         = "View what was sent"
	MenuSentTitle    = "Menu last sent to %s"
	NoMenuSent       = "The hub has not sent a menu of this store to the platform yet."
	MenuAccepted     = "%s accepted the menu that the hub sent %s."
	MenuNotAccepted  = "%s rejected the menu that the hub sent %s."
	MenuSentAgain    = "%s has not accepted the menu that the hub sent %s. The hub resends it."
	MenuUndecided    = "%s received the menu that the hub sent %s. It will report the outcome later."
	MenuTooLarge     = "The menu is too large to be stored."
	MenuSentAt       = "Sent"
	NoResponse       = "none"
	MenuSize         = "Size"
	MenuVersion      = "Change number"
	MenuCall         = "Idempotency key"
	MenuSent         = "Menu as sent"
	MenuSentOn       = "Menu sent %s"
	MenuNow          = "Menu as it would be sent now"
	MenuResponse     = "Response of the platform"
	MenuCompare      = "Compare with the current menu"
	MenuProblems     = "Rejected or left out"
	NoMenuProblems   = "Nothing was rejected or left out."
	MoreMenuProblems = "The first %d of %s are shown."
	MenuObject       = "Object"
	MenuNotRendered  = "The current menu cannot be shown in the format of the platform: %s"
	MenuNoPlugin     = "its plugin does not run on this replica"
)
