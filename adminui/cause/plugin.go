package cause

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/pluginhost"
)

// problemStates are the states in which a hub has a problem, worst first.
var problemStates = []pluginhost.State{pluginhost.Quarantined, pluginhost.Backoff, pluginhost.Degraded}

// PluginState returns the worst state of a plugin among all hubs.
func PluginState(p console.Plugin) pluginhost.State {
	for _, state := range problemStates {
		for _, hub := range p.Hubs {
			if hub.State == string(state) {
				return state
			}
		}
	}
	return pluginhost.State(p.State)
}

// Plugin explains the state of a plugin.
func Plugin(p console.Plugin, zone *time.Location) ui.Cause {
	fault := ""
	if len(p.Faults) > 0 {
		fault = p.Faults[0].Text
	}
	reason := cmp.Or(p.Reason, fault)
	since := formatTime(p.Since, zone)
	state := PluginState(p)
	switch {
	case !p.Enabled:
		return ui.Cause{State: ui.Held, Text: fmt.Sprintf(text.CausePluginOff, p.ID),
			Detail: sentences(connects(p), text.RemedyPluginOff, ordersLost(p))}
	case p.State == "":
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CausePluginNever, p.ID), Detail: text.RemedyPluginNever}
	case len(p.Hubs) == 0:
		return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CausePluginNowhere, p.ID), Detail: text.RemedyPluginNever}
	case state == pluginhost.Quarantined:
		return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CausePluginQuarantined, p.ID, since),
			Detail: sentences(connects(p), lastFault(reason), text.RemedyPluginQuarantined, ordersLost(p))}
	case state == pluginhost.Backoff:
		return ui.Cause{State: ui.Err, Text: fmt.Sprintf(text.CausePluginBackoff, p.ID),
			Detail: sentences(connects(p), lastFault(reason), text.RemedyPluginBackoff)}
	case state == pluginhost.Degraded:
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CausePluginDegraded, p.ID, since),
			Detail: degradedDetail(p, zone)}
	case p.SetAside > 0:
		return ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.CausePluginSetAside, p.ID,
			ui.Count(int64(p.SetAside), text.OneAsideRequest, text.AsideRequests)), Detail: text.RemedyPluginSetAside}
	case state == pluginhost.Ready && fault != "":
		return ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.CausePluginReady, p.ID, since),
			Detail: lastFaultAt(p.Faults[0], zone)}
	case state == pluginhost.Ready:
		return ui.Cause{State: ui.OK, Text: fmt.Sprintf(text.CausePluginReady, p.ID, since)}
	default:
		return ui.Cause{State: ui.Run, Text: fmt.Sprintf(text.CausePluginOther, p.ID, state)}
	}
}

// ordersLost says what a plugin that does not run means for the orders of its platforms.
func ordersLost(p console.Plugin) string {
	if connects(p) == "" {
		return ""
	}
	return text.PluginOrdersLost
}

// PluginWorks reports whether the stores of a plugin's platforms can be live: it runs, or will in a moment.
func PluginWorks(p console.Plugin, zone *time.Location) bool {
	if state := Plugin(p, zone).State; state == ui.OK || state == ui.Run {
		return true
	}
	state := PluginState(p)
	return p.Enabled && len(p.Hubs) > 0 && (state == pluginhost.Degraded || state == pluginhost.Ready)
}

// maxConnected limits the platforms that a sentence about a plugin names.
const maxConnected = 3

// connects names the platforms that a plugin serves, or returns "" if it serves none.
func connects(p console.Plugin) string {
	var names []string
	for _, served := range p.Serves {
		if !slices.Contains(names, served.Platform) {
			names = append(names, served.Platform)
		}
	}
	if len(names) == 0 {
		return ""
	}
	if len(names) > maxConnected {
		return fmt.Sprintf(text.PluginConnects, strings.Join(names[:maxConnected], ", ")+", …")
	}
	return fmt.Sprintf(text.PluginConnects, Join(names))
}

// lastFault names a problem of a plugin, or returns "" without one.
func lastFault(fault string) string {
	if fault == "" {
		return ""
	}
	return fmt.Sprintf(text.PluginFault, strings.TrimSuffix(fault, "."))
}

// degradedDetail names the problem of a degraded plugin, then its last fault if it is another one.
func degradedDetail(p console.Plugin, zone *time.Location) string {
	problem, fault := cmp.Or(p.Reason, p.Health), ""
	if len(p.Faults) > 0 && (problem == "" || p.Faults[0].Text != problem) {
		fault = lastFaultAt(p.Faults[0], zone)
	}
	if problem != "" {
		problem = fmt.Sprintf(text.PluginProblem, strings.TrimSuffix(problem, "."))
	}
	return sentences(problem, fault)
}

// lastFaultAt names a fault with its time.
func lastFaultAt(f console.PluginFault, zone *time.Location) string {
	return fmt.Sprintf(text.CausePluginLast, Moment(f.At, zone), strings.TrimSuffix(f.Text, "."))
}

// sentences joins those that are not empty.
func sentences(list ...string) string { return ui.JoinNonEmpty(" ", list...) }
