package adminui_test

import (
	"strings"

	"github.com/servery-hub/servery/core/console"
)

// samplePluginFaults are faults and requests set aside, of a plugin that chooses their texts.
func samplePluginFaults() console.PluginFaults {
	return console.PluginFaults{
		Causes: []console.PluginCause{
			{Kind: "panic", Call: "Orders.PlanAcknowledge", Text: "Orders.PlanAcknowledge: failed: the plugin panicked",
				Stack: "main.plan\n  /src/plugin/" + strings.Repeat("deep/", 30) + "main.go:7\n" + hostile, Count: 1999,
				First: minutesAgo(300), Last: minutesAgo(4), Version: "1.4.0", Business: 7, Platform: "tasty-eats",
				About: "order 10412"},
			{Kind: "crash", Text: long + hostile, Ended: true, Count: 1, First: minutesAgo(9), Last: minutesAgo(9),
				Version: "1.4.0"}},
		SetAside: []console.SetAside{{ID: 31, Call: "Menu.Render", Business: 7, Platform: "tasty-eats",
			About: "the menu of store \"S-17\"", Version: "1.4.0", Fault: "exit status 3", At: minutesAgo(9)},
			{ID: 32, Call: "Menu.CheckItems", Business: 12, Platform: hostile, About: "items " + hostile,
				Version: "1.4.0", Fault: long, At: minutesAgo(8)}}}
}
