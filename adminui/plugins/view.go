package plugins

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/pluginhost"
)

// pluginView is the data of the page of a plugin.
type pluginView struct {
	figures   []ui.Metric
	facts     []ui.Fact
	calls     ui.List
	faults    ui.List
	stacks    string
	aside     ui.List
	served    ui.List
	endpoints ui.List
	actions   ui.List
	hubs      ui.List
	log       string
	noLog     string // shown without a log
}

// servedShown bounds the platforms on the page of a plugin.
const servedShown = 100

func newPluginView(v *shell.PageContext, p console.Plugin, faults console.PluginFaults) pluginView {
	all := totalCalls(p.Hubs)
	slowest, failed := ui.Metric{Label: text.Latency, Value: orDash(average(all)),
		Note: fmt.Sprintf(text.CallsWorst, ui.Took(all.Slowest))},
		ui.Metric{Label: text.CallsFailed, Value: ui.Number(all.Failed),
			Note: ui.Count(all.Count, text.OneOfCalls, text.OfCalls_)}
	if all.Failed > 0 {
		failed.State = ui.Warn
	}
	noLog := text.NoLog
	if v.Visible() != nil {
		noLog = text.LogForAdmins
	}
	return pluginView{
		figures: []ui.Metric{slowest, failed,
			{Label: text.InFlight, Value: fmt.Sprint(inFlight(p.Hubs)), Note: fmt.Sprintf(text.InHubs, len(p.Hubs))},
			{Label: text.Findings, Value: ui.Number(p.Findings), Note: text.FindingsNote}},
		facts: facts(v, p), calls: callList(p.Hubs), faults: faultList(v, faults.Causes), stacks: stacks(faults.Causes),
		aside: asideList(v, p.ID, faults.SetAside), served: servedList(p.Serves),
		endpoints: endpointList(p.About.Endpoints),
		actions:   actionList(p.About.Actions),
		hubs:      hubList(v, p.Hubs), log: logText(p.Log), noLog: noLog,
	}
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func facts(v *shell.PageContext, p console.Plugin) []ui.Fact {
	secrets := make([]string, len(p.About.Secrets))
	for i, secret := range p.About.Secrets {
		secrets[i] = secret.Name
	}
	kinds := make([]string, len(p.About.Inbound))
	for i, in := range p.About.Inbound {
		kinds[i] = in.Kind + " (" + in.Proof + ")"
	}
	list := []ui.Fact{{Label: text.Version, Cell: ui.T(p.Version)}, {Label: text.Installed, Cell: ui.T(p.Installed)},
		{Label: text.Digest, Cell: ui.CodeCell(p.Digest)},
		{Label: text.Since, Cell: ui.TimeCell(v.At(p.Since))},
		{Label: text.Restarts, Cell: ui.T(fmt.Sprint(max(0, p.Starts-1)))}}
	for _, f := range []struct {
		label string
		words []string
	}{{text.Capabilities, p.About.Capabilities}, {text.Actions, action.Names(p.About.Actions)},
		{text.Groups, p.About.Groups}, {text.Inbound, kinds}, {text.Secrets, secrets}} {
		list = append(list, ui.Fact{Label: f.label, Cell: ui.T(strings.Join(f.words, ", "))})
	}
	return list
}

func callList(hubs []console.PluginHub) ui.List {
	byName := map[string]*console.PluginCall{}
	var names []string
	for _, hub := range hubs {
		for _, call := range hub.Calls {
			if byName[call.Name] == nil {
				byName[call.Name] = &console.PluginCall{}
				names = append(names, call.Name)
			}
			byName[call.Name].Add(call)
		}
	}
	slices.Sort(names)
	list := ui.List{Name: text.Calls, EmptyTitle: text.NoCalls, EmptyText: text.NoCallsText,
		Columns: []ui.Column{{Label: text.Call, Kind: ui.Wide}, {Label: text.Count, Kind: ui.Figure},
			{Label: text.Latency, Kind: ui.Figure}, {Label: text.Slowest, Kind: ui.Figure},
			{Label: text.CallsFailed, Kind: ui.Figure}}}
	for _, name := range names {
		call := *byName[name]
		list.Add(ui.T(name), ui.T(ui.Number(call.Count)), ui.T(average(call)), ui.T(ui.Took(call.Slowest)),
			ui.T(ui.Number(call.Failed)))
	}
	return list
}

func faultList(v *shell.PageContext, causes []console.PluginCause) ui.List {
	list := ui.List{Name: text.Faults, EmptyTitle: text.NoFaults, EmptyText: text.NoFaultsText,
		Columns: []ui.Column{{Label: text.FaultLast}, {Label: text.Fault, Kind: ui.Wide}, {Label: text.Outcome_},
			{Label: text.FaultCount, Kind: ui.Figure}, {Label: text.FaultFirst}, {Label: text.Version}}}
	for _, c := range causes {
		state, words := ui.Warn, text.FaultCall
		if c.Ended {
			state, words = ui.Err, text.FaultEnded
		}
		list.Add(ui.TimeCell(v.At(c.Last)),
			ui.Cell{Text: c.Text, Note: strings.TrimSpace(c.Call + " " + subject(c.Business, c.Platform, c.About))},
			ui.StateCell(state, words), ui.T(ui.Number(c.Count)), ui.TimeCell(v.At(c.First)), ui.T(c.Version))
	}
	return list
}

// subject describes what a call is about.
func subject(business core.BusinessID, platform, about string) string {
	if business == 0 {
		return about
	}
	return strings.TrimPrefix(fmt.Sprintf(text.SubjectOf, about, business, platform), " ")
}

// stacks returns the stacks of faults, each below its text.
func stacks(causes []console.PluginCause) string {
	var out strings.Builder
	for _, c := range causes {
		if c.Stack != "" {
			fmt.Fprintf(&out, "%s\n%s\n\n", c.Text, c.Stack)
		}
	}
	return out.String()
}

// asideList lists the requests that are set aside. An admin can retry them.
func asideList(v *shell.PageContext, plugin string, requests []console.SetAside) ui.List {
	list := ui.List{Name: text.SetAside, EmptyTitle: text.NoSetAside, EmptyText: text.NoSetAsideText,
		Columns: []ui.Column{{Label: text.SetAsideSince}, {Label: text.Call, Kind: ui.Wide},
			{Label: text.Fault, Kind: ui.Wide}, {Label: text.Version}}}
	if v.User.Role == access.Admin && len(requests) > 0 {
		list.Choose = &ui.Button{Label: text.RetrySetAside, Action: shell.PluginsPath + plugin + "/retry/",
			ReasonLabel: text.Why, Token: v.Token()}
	}
	for _, r := range requests {
		list.Rows = append(list.Rows, ui.Row{Key: fmt.Sprint(r.ID), Name: r.Call, Cells: []ui.Cell{
			ui.TimeCell(v.At(r.At)), {Text: r.Call, Note: subject(r.Business, r.Platform, r.About)}, ui.T(r.Fault),
			ui.T(r.Version)}})
	}
	return list
}

func servedList(served []console.Served) ui.List {
	list := ui.List{Name: text.Platforms, EmptyTitle: text.ServesNone, EmptyText: text.ServesNoneText,
		Columns: []ui.Column{{Label: text.Business, Kind: ui.Wide}, {Label: text.Platform}}}
	for i, platform := range served {
		if i < servedShown {
			list.Add(ui.LinkCell(platform.Name, shell.BusinessLink(platform.Business, "")),
				ui.LinkCell(platform.Platform, shell.BusinessLink(platform.Business, "settings/")))
		}
	}
	return list
}

// actionList lists the feature actions of a plugin, with the rules of their parameters.
func actionList(actions []action.Offer) ui.List {
	list := ui.List{Name: text.Actions, EmptyTitle: text.NoActions, EmptyText: text.NoActionsText,
		Columns: []ui.Column{{Label: text.Name}, {Label: text.Parameters, Kind: ui.Wide}, {Label: text.Result}}}
	for _, offer := range actions {
		var parameters []string
		for _, field := range ui.SchemaFields(offer.Schema) {
			name := field.Name
			if field.Required {
				name += " (" + text.Required + ")"
			}
			parameters = append(parameters, name+" – "+field.Bounds())
		}
		result := text.ResultByRef
		if offer.SendsEvent {
			result = text.ResultByEvent
		}
		list.Add(ui.Cell{Text: offer.Name, Note: offer.Title}, ui.T(strings.Join(parameters, "; ")), ui.T(result))
	}
	return list
}

func endpointList(endpoints []console.PluginEndpoint) ui.List {
	list := ui.List{Name: text.Endpoints, EmptyTitle: text.NoEndpoints, EmptyText: text.NoEndpointsText,
		Columns: []ui.Column{{Label: text.Name}, {Label: text.Hosts, Kind: ui.Wide},
			{Label: text.Detail, Kind: ui.Wide}}}
	for _, e := range endpoints {
		list.Add(ui.T(e.Name), ui.CodeCell(strings.Join(e.Hosts, ", ")), ui.T(e.Description))
	}
	return list
}

func hubList(v *shell.PageContext, hubs []console.PluginHub) ui.List {
	list := ui.List{Name: text.InHub, EmptyTitle: text.NoHubs, EmptyText: text.RemedyPluginNever,
		Columns: []ui.Column{{Label: text.Hub_, Kind: ui.Wide}, {Label: text.State}, {Label: text.Version},
			{Label: text.Since}, {Label: text.InFlight, Kind: ui.Figure}, {Label: text.Memory, Kind: ui.Figure},
			{Label: text.ReportedAt}}}
	for _, hub := range hubs {
		state := ui.Run
		switch pluginhost.State(hub.State) {
		case pluginhost.Ready:
			state = ui.OK
		case pluginhost.Degraded:
			state = ui.Warn
		case pluginhost.Quarantined, pluginhost.Backoff:
			state = ui.Err
		case pluginhost.Stopped:
			state = ui.Held
		}
		list.Add(ui.Cell{Text: hub.Hub.String(), Code: true, Note: hub.Reason},
			ui.StateCell(state, cause.Capital(hub.State)), ui.T(hub.Version), ui.TimeCell(v.At(hub.Since)),
			ui.T(fmt.Sprint(hub.InFlight)), ui.T(ui.Size(int(hub.Memory))), ui.TimeCell(v.At(hub.At)))
	}
	return list
}

// logText formats log lines for people. A JSON line begins with its time, level and message.
func logText(lines []string) string {
	var out strings.Builder
	for _, line := range lines {
		var members map[string]any
		if json.Unmarshal([]byte(line), &members) == nil {
			line = formatLogLine(members)
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}

func formatLogLine(members map[string]any) string {
	first := fmt.Sprintf("%v %-5v %v", members["@timestamp"], members["@level"], members["@message"])
	var names []string
	for name := range members {
		if !strings.HasPrefix(name, "@") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		first += fmt.Sprintf(" %s=%v", name, members[name])
	}
	return first
}
