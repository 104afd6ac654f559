package web

import (
	"fmt"
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// retryDeliveries queues a bulk resend of the deliveries that the body selects. With dry_run it only counts them.
func (s *Server) retryDeliveries(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	now := s.Clock.Now()
	selector, err := webhook.DecodeBulkResend(body, now)
	if err != nil {
		return err
	}
	count, err := s.Deliveries.Count(c.UserContext(), caller.Business, selector)
	if err != nil {
		return err
	}
	reply := envelope{Status: "success", Count: &count}
	if c.Query("dry_run") == "true" {
		reply.Message = fmt.Sprintf("%d deliveries would be resent; send the request without dry_run to do it",
			count)
		return respond(c, http.StatusOK, reply)
	}
	job, err := selector.Job(caller.Business, count, now)
	if err != nil {
		return err
	}
	reply.Message = "deliveries are being resent; the job of this reference has the progress"
	return s.queue(c, caller, job, reply)
}
