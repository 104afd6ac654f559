package text

// Words of the first integration.
const (
	Checklist     = "First integration"
	ChecklistDone = "%d of %d steps"
	Step          = "Step"
	StepDone      = "Done"
	StepOpen      = "Open"
	StepWrong     = "Has errors"
	StepCommand   = "%s: in a shell, with your own in place of the words in capitals"
	StepJob       = "See what is wrong"
)
