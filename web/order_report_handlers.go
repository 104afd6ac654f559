package web

import (
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/presence"
)

// putOrder stores the merchant's reference of an order.
func (s *Server) putOrder(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	id := idParam(c, "id")
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

// reportItemsOOS stores a report that items of an order are out of stock, and responds. The report is then sent to the
// platform.
func (s *Server) reportItemsOOS(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	report, err := order.DecodeOutOfStockReport(body)
	if err != nil {
		return err
	}
	report.Actor = caller.Actor()
	id, reference, err := s.Orders.Report(c.UserContext(), caller.Business, core.NewID(s.Clock.Now()), report)
	if err != nil {
		return err
	}
	s.recordHeartbeat(caller, presence.Heartbeat{OrderID: id})
	return respond(c, http.StatusOK, envelope{
		Status: "success", Reference: reference.String(), ReferenceID: reference.String(),
		Message: pluralize(len(report.Items), "item") +
			" reported out of stock; the result follows as an order_items_oos_processed callback",
	})
}
