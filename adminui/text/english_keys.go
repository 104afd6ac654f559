package text

// Texts of keyboard shortcuts and of density.
const (
	KeysTitle   = "Keyboard shortcuts"
	KeysShow    = "Show shortcuts"
	KeysMove    = "Next row, previous row"
	KeysOpen    = "Open the row"
	KeysSelect  = "Select the row, in a list with boxes"
	KeysResend  = "Resend or run again: opens the form that asks for the reason"
	KeysSearch  = "Search"
	KeysHelp    = "Show these shortcuts"
	KeysNote    = "They do nothing while you type in a field. The account menu turns them off."
	Density     = "Density"
	Comfortable = "Comfortable"
	Compact     = "Compact"
	KeysOn      = "On"
	KeysOff     = "Off"
	Close       = "Close"
)
