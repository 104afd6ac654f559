package web

import (
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/presence"
)

// putOrder stores what the merchant's system calls an order.
func (s *Server) putOrder(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	id := orderID(c)
	reference, err := order.DecodeReference(body)
	if err != nil {
		return withOrder(id, err)
	}
	if err := s.Orders.SetReference(c.UserContext(), caller.Business, id, reference); err != nil {
		return err
	}
	s.recordHeartbeat(caller, presence.Heartbeat{OrderID: id})
	return respond(c, http.StatusOK, orderResponse{"success", "the order has the reference " + reference, id})
}

// reportItemsOOS takes a report that items of an order are out of stock. It is
// stored, and on its way to the platform, when the answer goes out.
func (s *Server) reportItemsOOS(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	shortage, err := order.DecodeOutOfStockReport(body)
	if err != nil {
		return err
	}
	shortage.Actor = caller.Actor()
	id, reference, err := s.Orders.Report(c.UserContext(), caller.Business, core.NewID(s.Clock.Now()), shortage)
	if err != nil {
		return err
	}
	s.recordHeartbeat(caller, presence.Heartbeat{OrderID: id})
	return respond(c, http.StatusOK, envelope{
		Status: "success", Reference: reference.String(), ReferenceID: reference.String(),
		Message: pluralize(len(shortage.Items), "item") +
			" reported out of stock; the result follows as an order_items_oos_processed callback",
	})
}
