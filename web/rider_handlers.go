package web

import (
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/presence"
)

// postRiderStatus stores the status of an order's rider, with its event and relay, and responds.
func (s *Server) postRiderStatus(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	update, err := order.DecodeRiderUpdate(body)
	if err != nil {
		return withOrder(bodyOrderID(body), err)
	}
	update.Business, update.Actor = caller.Business, caller.Actor()
	changed, err := s.Riders.Update(c.UserContext(), update)
	if err != nil {
		return withOrder(update.OrderID, err)
	}
	s.recordHeartbeat(caller, presence.Heartbeat{OrderID: update.OrderID})
	message := "rider status " + string(update.Status) + " enqueued"
	if !changed {
		message = "the rider's status is " + string(update.Status) + " already, nothing changed"
	}
	return respond(c, http.StatusOK, envelope{Status: "success", Message: message})
}

// postRiderLocation stores the location of an order's rider.
func (s *Server) postRiderLocation(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	location, err := order.DecodeRiderLocation(body)
	if err != nil {
		return withOrder(bodyOrderID(body), err)
	}
	location.Business, location.SeenAt = caller.Business, s.Clock.Now()
	if err := s.Riders.UpdateLocation(c.UserContext(), location); err != nil {
		return withOrder(location.OrderID, err)
	}
	s.recordHeartbeat(caller, presence.Heartbeat{OrderID: location.OrderID})
	return respond(c, http.StatusOK, envelope{Status: "success", Message: "rider location enqueued"})
}
