package web

import (
	"net/http"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// webhookBody is a subscription in a response.
type webhookBody struct {
	Active           bool               `json:"active"`
	EventType        core.EventType     `json:"event_type"`
	Headers          map[string]string  `json:"headers"`
	EventHeader      string             `json:"event_type_header,omitzero"`
	EventHeaderValue webhook.EventValue `json:"event_type_header_value,omitzero"`
	Units            webhook.Units      `json:"retrial_interval_units"`
	URL              string             `json:"url"`
	WebhookID        int64              `json:"webhook_id"`
	DisabledReason   string             `json:"disabled_reason,omitzero"`
}

func webhookBodyOf(sub webhook.Subscription) webhookBody {
	return webhookBody{sub.Active, sub.EventType, sub.Headers, sub.EventHeader.Name, sub.EventHeader.Value, sub.Units,
		sub.URL, sub.ID, sub.DisabledReason}
}

// postWebhook creates a subscription, or updates the one with the same event type and URL. Only creation returns the
// signing secret.
func (s *Server) postWebhook(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	input, err := webhook.DecodeInput(body, false)
	if err != nil {
		return err
	}
	results, err := s.Subscriptions.Create(c.UserContext(), caller.Business, caller.Actor(), input)
	if err != nil {
		return err
	}
	message, secret := createdMessage(results)
	return respond(c, http.StatusOK, envelope{Status: "success", Message: message, WebhookID: results.ID,
		Active: &results.Active, Secret: secret})
}

// createdMessage describes the result. It returns the secret of a created webhook.
func createdMessage(results webhook.Created) (message, secret string) {
	if results.Previous == nil {
		return "webhook created; keep the secret, it verifies the signature of every delivery", results.Secret
	}
	message = "webhook updated: it existed for this event_type and url"
	switch {
	case !results.Active:
		message += ", disabled until active is true"
	case results.Previous.DisabledReason != "":
		message += ", enabled after the hub had disabled it: " + results.Previous.DisabledReason
	}
	return message, ""
}

// createdBody is a created or updated webhook in the response to a bulk request.
type createdBody struct {
	Index     int            `json:"index"`
	WebhookID int64          `json:"webhook_id"`
	EventType core.EventType `json:"event_type"`
	URL       string         `json:"url"`
	Active    bool           `json:"active"`
	Message   string         `json:"message"`
	Secret    string         `json:"secret,omitzero"`
}

// postWebhooks creates or updates several subscriptions, all or none.
func (s *Server) postWebhooks(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	inputs, err := webhook.DecodeBulk(body)
	if err != nil {
		return err
	}
	results, err := s.Subscriptions.CreateAll(c.UserContext(), caller.Business, caller.Actor(), inputs)
	if err != nil {
		return err
	}
	list, created := make([]createdBody, len(results)), 0
	for i, one := range results {
		message, secret := createdMessage(one)
		if secret != "" {
			created++
		}
		list[i] = createdBody{i, one.ID, one.EventType, one.URL, one.Active, message, secret}
	}
	message := pluralize(created, "webhook") + " created, " + strconv.Itoa(len(results)-created) + " updated"
	if created > 0 {
		message += "; keep the secrets, each verifies the signature of its webhook's deliveries"
	}
	return respond(c, http.StatusOK, struct {
		Status   string        `json:"status"`
		Message  string        `json:"message"`
		Webhooks []createdBody `json:"webhooks"`
	}{"success", message, list})
}

func (s *Server) putWebhook(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	input, err := webhook.DecodeInput(body, true)
	if err != nil {
		return err
	}
	id := idParam(c, "webhook_id")
	if err := s.Subscriptions.Update(c.UserContext(), caller.Business, caller.Actor(), id, input); err != nil {
		return err
	}
	return respond(c, http.StatusOK, envelope{Status: "success", Message: "webhook updated", WebhookID: id})
}

// checkCallback returns an error if callback_url is not allowed as the URL of a webhook. An empty URL is absent.
func (s *Server) checkCallback(address string) error {
	if address == "" {
		return nil
	}
	return s.Subscriptions.CheckURL("callback_url", address)
}

// testWebhook sends a sample event to a webhook.
func (s *Server) testWebhook(c *fiber.Ctx, caller core.Caller) error {
	id := idParam(c, "webhook_id")
	reference, err := s.Tester.Test(c.UserContext(), caller.Business, id)
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, envelope{
		Status:    "success",
		Message:   "test event queued; list the deliveries of this reference to see its result",
		Reference: reference.String(), WebhookID: id,
	})
}

// rotateWebhook replaces the signing secret of a webhook and returns the new one, which is not shown later.
func (s *Server) rotateWebhook(c *fiber.Ctx, caller core.Caller) error {
	sub, err := s.Subscriptions.Rotate(c.UserContext(), caller.Business, idParam(c, "webhook_id"), caller.Actor(), "")
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, envelope{
		Status:    "success",
		Message:   "secret rotated; until old_secret_until the earlier secret signs each delivery too",
		WebhookID: sub.ID, Secret: sub.Secret, OldUntil: sub.OldSecretUntil.UnixMilli(),
	})
}

func (s *Server) getWebhook(c *fiber.Ctx, caller core.Caller) error {
	sub, err := s.SubscriptionRecords.Get(c.UserContext(), caller.Business, idParam(c, "webhook_id"))
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, webhookBodyOf(sub))
}

func (s *Server) listWebhooks(c *fiber.Ctx, caller core.Caller) error {
	var v core.Violations
	limit := intParam(c, "limit", intRange{50, 1, 200}, &v)
	offset := intParam(c, "offset", intRange{0, 0, 1 << 30}, &v)
	if err := v.Err(); err != nil {
		return err
	}
	subs, total, err := s.SubscriptionRecords.List(c.UserContext(), caller.Business, limit, offset)
	if err != nil {
		return err
	}
	list := make([]webhookBody, len(subs))
	for i, sub := range subs {
		list[i] = webhookBodyOf(sub)
	}
	return respond(c, http.StatusOK, struct {
		Webhooks []webhookBody `json:"webhooks"`
		Meta     listMeta      `json:"meta"`
	}{list, listMeta{limit, offset, total}})
}

type listMeta struct {
	Limit  int `json:"limit"`
	Offset int `json:"offset"`
	Total  int `json:"total_count"`
}
