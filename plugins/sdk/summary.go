package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	pb "github.com/servery-hub/servery/plugins/proto"
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
	var groups, actions, endpoints, secrets, credentials []string
	for _, g := range about.GetVocabulary() {
		groups = append(groups, fmt.Sprintf("%s (%d keys)", g.GetGroup(), len(g.GetKeys())))
	}
	for _, a := range about.GetActions() {
		actions = append(actions, a.GetName()+parameterNames(a))
	}
	for _, e := range about.GetEndpoints() {
		endpoints = append(endpoints, e.GetName()+" at "+strings.Join(e.GetHosts(), " or "))
	}
	for _, s := range about.GetSecrets() {
		secrets = append(secrets, s.GetName())
	}
	for _, o := range about.GetCredentials() {
		credentials = append(credentials, o.GetName())
	}
	row("vocabulary", groups...)
	row("actions", actions...)
	row("endpoints", endpoints...)
	row("secrets", secrets...)
	row("credentials", credentials...)
	for _, i := range about.GetInbound() {
		row("receives", i.GetKind()+": "+DescribeInbound(i))
	}
	for _, p := range about.GetPolls() {
		row("polls", fmt.Sprintf("%s: every %d s", p.GetName(), p.GetPeriodSeconds()))
	}
	row("limits", fmt.Sprintf("%d MB, %d calls at a time", about.GetLimits().GetMemoryMb(),
		about.GetLimits().GetInFlight()))
	return text.String()
}

// parameterNames returns the names of the parameters of an action in parentheses, or "" if it has none.
func parameterNames(offer *pb.ActionOffer) string {
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if json.Unmarshal(offer.GetParametersSchema(), &schema) != nil || len(schema.Properties) == 0 {
		return ""
	}
	return " (" + strings.Join(slices.Sorted(maps.Keys(schema.Properties)), ", ") + ")"
}
