package sandbox

import (
	"slices"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
)

// buttons are the scenarios, at the store of the one before.
func buttons(action string, before console.Scenario) (list []ui.Button) {
	places, step := ui.Filter{Name: "places", Label: text.PlayPlaces, Value: "5"},
		ui.Filter{Name: "step", Label: text.PlayStep, Value: "0.5"}
	for _, one := range []struct {
		kind, say, count, rate string
		more                   []ui.Filter
	}{
		{"order", text.PlayOrderSay, "5", "0", nil},
		{"rider", text.PlayRiderSay, "1", "0", []ui.Filter{places, step}},
		{"cancel", text.PlayCancelSay, "4", "0", []ui.Filter{{Name: "share", Label: text.PlayShare, Value: "50"}}},
		{"edit", text.PlayEditSay, "2", "0", nil},
		{"rush", text.PlayRushSay, "500", "50", nil},
	} {
		fields := slices.Concat([]ui.Filter{{Name: "store", Label: text.PlayStore, Value: before.Store,
			Hint: text.PlayStoreHint}, {Name: "count", Label: text.PlayCount, Value: one.count},
			{Name: "rate", Label: text.PlayRate, Value: one.rate}}, one.more,
			[]ui.Filter{{Name: "seed", Label: text.PlaySeed},
				{Name: "platform", Label: text.PlayPlatform, Value: before.Platform}})
		list = append(list, ui.Button{Label: text.Plays[one.kind], Action: action, Ask: text.Why, Say: one.say,
			Hidden: []ui.Option{{Label: "kind", Value: one.kind}}, Fields: fields})
	}
	return list
}

// faultButton switches a fault of simulated platforms on.
func faultButton(action string, platforms []string) ui.Button {
	every := []ui.Option{{Label: text.Any}}
	return ui.Button{Label: text.FaultOn, Action: action, Ask: text.Why, Say: text.FaultSay, Fields: []ui.Filter{
		{Name: "kind", Label: text.FaultKind, Options: named(console.FaultKinds, text.FaultKinds)},
		{Name: "platform", Label: text.Platform, Options: append(every, named(platforms, nil)...)},
		{Name: "call", Label: text.FaultBefalls, Options: append(every, named(console.FaultCalls, nil)...)},
		{Name: "status", Label: text.FaultStatus, Value: "503"},
		{Name: "delay", Label: text.FaultDelay, Value: "2"},
		{Name: "probability", Label: text.FaultProbability, Value: "100"},
		{Name: "seed", Label: text.FaultSeed},
		{Name: "lasts", Label: text.FaultLasts, Value: "300"},
	}}
}

// named are the values as options, each with its words where there are any.
func named(values []string, words map[string]string) []ui.Option {
	options := make([]ui.Option, len(values))
	for i, value := range values {
		options[i] = ui.Option{Value: value, Label: value}
		if words[value] != "" {
			options[i].Label = words[value]
		}
	}
	return options
}
