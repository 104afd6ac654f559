package web

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// postOrderRetry queues an order retry, which resends the orders that their endpoint did not accept.
func (s *Server) postOrderRetry(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	business, err := s.Businesses.Business(c.UserContext(), caller.Business)
	if err != nil {
		return err
	}
	zone, err := time.LoadLocation(business.Timezone)
	if err != nil {
		return err
	}
	now := s.Clock.Now()
	request, err := webhook.DecodeRetryRequest(body, now, zone)
	if err != nil {
		return err
	}
	job, err := request.Job(caller.Business, now)
	if err != nil {
		return err
	}
	message := "retry queued; the result follows as a webhook_retry callback"
	if request.Clipped {
		message += "; the window was clipped: only orders of the current day, since " +
			request.From.In(zone).Format(time.RFC3339) + ", are resent"
	}
	return s.queue(c, caller, job, envelope{Message: message, ReferenceID: job.ID.String()})
}
