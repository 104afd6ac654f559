package aggregator

import (
	"context"
	"slices"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/pluginhost"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// Actions returns the actions that a plugin offers (action.ActionLister).
func (h *Host) Actions(_ context.Context, id string) (offers []action.Offer, err error) {
	about := h.description(id)
	if about == nil {
		return nil, core.Errorf(core.Unavailable, "the actions of plugin %s are not known yet", id)
	}
	return Offers(about), nil
}

// Offers returns the actions that a description offers.
func Offers(about *sdk.Description) (offers []action.Offer) {
	for _, offer := range about.GetActions() {
		offers = append(offers, action.Offer{Name: offer.GetName(), Title: offer.GetTitle(),
			Schema: offer.GetParametersSchema(), SendsEvent: action.SendsEvent(offer.GetName(), offer.GetSendsEvent())})
	}
	return offers
}

// isByCallback reports whether the outcome of an action arrives later, by a callback that the plugin interprets.
func isByCallback(about *sdk.Description, name string) bool {
	return slices.ContainsFunc(about.GetActions(), func(offer *pb.ActionOffer) bool {
		return offer.GetName() == name && offer.GetByCallback()
	})
}

// ParameterProblems returns the rules of a schema that parameters break (action.ActionLister).
func (h *Host) ParameterProblems(schema, parameters []byte) []core.Violation {
	return pluginhost.ParameterProblems(schema, parameters)
}
