package sandbox

import (
	"slices"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
)

// buttons returns a button for each kind of scenario. The store and platform of the previous one are the defaults.
func buttons(action string, previous console.Scenario) (list []ui.Button) {
	locations, step := ui.Filter{Name: "places", Label: text.ScenarioLocations, Value: "5"},
		ui.Filter{Name: "step", Label: text.ScenarioStep, Value: "0.5"}
	for _, scenario := range []struct {
		kind, help, count, rate string
		more                    []ui.Filter
	}{
		{"order", text.ScenarioOrderHelp, "5", "0", nil},
		{"rider", text.ScenarioRiderHelp, "1", "0", []ui.Filter{locations, step}},
		{"cancel", text.ScenarioCancelHelp, "4", "0",
			[]ui.Filter{{Name: "share", Label: text.ScenarioShare, Value: "50"}}},
		{"edit", text.ScenarioEditHelp, "2", "0", nil},
		{"rush", text.ScenarioRushHelp, "500", "50", nil},
	} {
		fields := slices.Concat([]ui.Filter{{Name: "store", Label: text.ScenarioStore, Value: previous.Store,
			Hint: text.ScenarioStoreHint}, {Name: "count", Label: text.ScenarioCount, Value: scenario.count},
			{Name: "rate", Label: text.ScenarioRate, Value: scenario.rate}}, scenario.more,
			[]ui.Filter{{Name: "seed", Label: text.ScenarioSeed},
				{Name: "platform", Label: text.ScenarioPlatform, Value: previous.Platform}})
		list = append(list, ui.Button{Label: text.ScenarioNames[scenario.kind], Action: action, ReasonLabel: text.Why,
			Help: scenario.help, Hidden: []ui.Option{{Label: "kind", Value: scenario.kind}}, Fields: fields})
	}
	return list
}

// faultButton returns the button that starts a fault of simulated platforms.
func faultButton(action string, platforms []string) ui.Button {
	every := []ui.Option{{Label: text.Any}}
	return ui.Button{Label: text.FaultOn, Action: action, ReasonLabel: text.Why, Help: text.FaultSay,
		Fields: []ui.Filter{
			{Name: "kind", Label: text.FaultKind, Options: options(console.FaultKinds, text.FaultKinds)},
			{Name: "platform", Label: text.Platform, Options: append(every, options(platforms, nil)...)},
			{Name: "call", Label: text.FaultAppliesTo, Options: append(every, options(console.FaultCalls, nil)...)},
			{Name: "status", Label: text.FaultStatus, Value: "503"},
			{Name: "delay", Label: text.FaultDelay, Value: "2"},
			{Name: "probability", Label: text.FaultProbability, Value: "100"},
			{Name: "seed", Label: text.FaultSeed},
			{Name: "lasts", Label: text.FaultDuration, Value: "300"},
		}}
}

// options returns an option for each value, labelled with its words if it has any.
func options(values []string, words map[string]string) []ui.Option {
	options := make([]ui.Option, len(values))
	for i, value := range values {
		options[i] = ui.Option{Value: value, Label: value}
		if words[value] != "" {
			options[i].Label = words[value]
		}
	}
	return options
}
