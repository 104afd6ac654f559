package text

// Texts of the first integration.
const (
	Checklist     = "First integration"
	ChecklistDone = "%d of %d steps"
	Step          = "Step"
	StepDone      = "Done"
	StepOpen      = "To do"
	StepWrong     = "Has errors"
	StepCommand   = "%s: run this in a shell, with your values for the words in capitals"
	StepJob       = "View errors"
)
