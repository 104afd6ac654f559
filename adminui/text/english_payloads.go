package text

// Texts of payloads.
const (
	PayloadSearch   = "Search in this body"
	PayloadPrevious = "Previous match"
	PayloadNext     = "Next match"
	PayloadNone     = "No match"
	PayloadAt       = "%d of %d"
	PayloadFold     = "Fold all"
	PayloadUnfold   = "Unfold all"
	PayloadWhole    = "Show all"
	PayloadLoading  = "Loading"
	PayloadFailed   = "The body could not be loaded"
	PayloadLines    = "Lines of the body"
	PayloadPath     = "Copy path"
	PayloadValue    = "Copy value"
)
