package web

import (
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core/callback"
	"github.com/servery-hub/servery/core/outcome"
	"github.com/servery-hub/servery/core/relay"
)

// effectMessages are the responses to reported outcomes.
var effectMessages = map[outcome.Effect]string{
	outcome.Settled:    "outcome recorded",
	outcome.Retried:    "outcome recorded: the hub sends the request again",
	outcome.Early:      "outcome stored: its request is not known yet",
	outcome.Repeated:   "nothing to do: the outcome is known",
	outcome.Superseded: "nothing to do: a newer request has replaced this one",
	outcome.Nothing:    "nothing to do: it is no outcome yet",
}

// settleReport applies an outcome that an aggregator reports after its response, and responds.
func (s *Server) settleReport(c *fiber.Ctx, caller relay.Caller, report outcome.Report) error {
	if report.Reference == "" && report.StoreRefID == "" {
		ref, err := s.PlatformStores.StoreRef(c.UserContext(), caller.Business, caller.Platform,
			report.PlatformStoreID)
		if err != nil {
			return err
		}
		report.StoreRefID = ref
	}
	effect, err := s.Outcomes.Settle(c.UserContext(), caller.Business, caller.Platform, report)
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, envelope{Status: "success", Message: effectMessages[effect]})
}

// applyStore applies what an aggregator says about a store, and responds.
func (s *Server) applyStore(c *fiber.Ctx, caller relay.Caller, message relay.StoreMessage) error {
	text, err := callback.ApplyStore(c.UserContext(), s.PlatformStores, s.PlatformViews, caller, message)
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, envelope{Status: "success", Message: text})
}
