package web

import (
	"net/http"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/action"
	"github.com/servery-hub/servery/core/presence"
)

// postFeatureAction stores a feature action for the aggregator and responds.
func (s *Server) postFeatureAction(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	request, err := action.Decode(body)
	if err != nil {
		return withOrder(bodyOrderID(body), err)
	}
	names, err := s.Platforms.Names(c.UserContext(), caller.Business)
	if err != nil {
		return err
	}
	reference, err := s.ActionDesk.Submit(c.UserContext(), caller.Business, names.Resolve(pathParam(c, "platform")),
		caller.Actor(), request)
	if err != nil {
		return withOrder(request.OrderID, err)
	}
	s.recordHeartbeat(caller, presence.Heartbeat{OrderID: request.OrderID})
	return respond(c, http.StatusOK,
		envelope{Status: "success", Message: request.Action + " queued", Reference: reference.String()})
}

// getAction returns the state of a feature action.
func (s *Server) getAction(c *fiber.Ctx, caller core.Caller) error {
	reference, err := uuid.Parse(c.Params("reference"))
	if err != nil {
		return core.Errorf(core.NotFound, "there is no action with this reference")
	}
	record, err := s.Actions.Get(c.UserContext(), caller.Business, reference)
	if err != nil {
		return err
	}
	names, err := s.Platforms.Names(c.UserContext(), caller.Business)
	if err != nil {
		return err
	}
	record.Platform = names.EventName(record.Platform)
	return respond(c, http.StatusOK, record)
}
