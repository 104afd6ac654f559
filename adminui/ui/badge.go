package ui

// State is the meaning of a badge. Each has its own colour and icon, so colour is never the only difference.
type State string

// The states of the palette; Neutral has no colour.
const (
	Neutral State = ""
	OK      State = "ok"
	Warn    State = "warn"
	Err     State = "err"
	Run     State = "run"
	Held    State = "held"
	Wait    State = "wait" // to begin
	Off     State = "off"  // ended before its aim
)

func (s State) class() string {
	if s == Neutral {
		return "badge"
	}
	return "badge badge-" + string(s)
}
