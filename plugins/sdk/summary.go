package sdk

import (
	"fmt"
	"strings"
)

// Summary describes a plugin in a few lines of text.
func Summary(about *Description) string {
	var text strings.Builder
	row := func(name string, values ...string) {
		if len(values) > 0 {
			fmt.Fprintf(&text, "%-13s %s\n", name, strings.Join(values, ", "))
		}
	}
	row("plugin", about.GetId()+" "+about.GetVersion()+" ("+about.GetDisplayName()+")")
	row("capabilities", about.GetCapabilities()...)
	var groups, actions, endpoints, secrets, inbound []string
	for _, g := range about.GetVocabulary() {
		groups = append(groups, fmt.Sprintf("%s (%d keys)", g.GetGroup(), len(g.GetKeys())))
	}
	for _, a := range about.GetActions() {
		actions = append(actions, a.GetName())
	}
	for _, e := range about.GetEndpoints() {
		endpoints = append(endpoints, e.GetName()+" at "+strings.Join(e.GetHosts(), " or "))
	}
	for _, s := range about.GetSecrets() {
		secrets = append(secrets, s.GetName())
	}
	for _, i := range about.GetInbound() {
		inbound = append(inbound, i.GetKind())
	}
	row("vocabulary", groups...)
	row("actions", actions...)
	row("endpoints", endpoints...)
	row("secrets", secrets...)
	row("receives", inbound...)
	row("limits", fmt.Sprintf("%d MB, %d calls at a time", about.GetLimits().GetMemoryMb(),
		about.GetLimits().GetInFlight()))
	return text.String()
}
