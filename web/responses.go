package web

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/problem"
)

// envelope is the response to every write, and to every error.
type envelope struct {
	Status      string           `json:"status"`
	Message     string           `json:"message"`
	Reference   string           `json:"reference,omitzero"`
	ReferenceID string           `json:"reference_id,omitzero"` // equals reference
	WebhookID   int64            `json:"webhook_id,omitzero"`
	Active      *bool            `json:"active,omitzero"` // of a created webhook
	Count       *int             `json:"count,omitzero"`
	Secret      string           `json:"secret,omitzero"`
	OldUntil    int64            `json:"old_secret_until,omitzero"` // epoch milliseconds
	Warnings    []core.Warning   `json:"warnings,omitzero"`
	Errors      []core.Violation `json:"errors,omitzero"`
	RequestID   string           `json:"request_id,omitzero"`
}

// respond sends a value as JSON.
func respond(c *fiber.Ctx, status int, value any) error {
	body, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return err
	}
	return send(c, status, body)
}

// send sends JSON text. The caller must not change body afterwards.
func send(c *fiber.Ctx, status int, body []byte) error {
	c.Set(fiber.HeaderContentType, "application/json; charset=utf-8")
	c.Status(status).Response().SetBodyRaw(body)
	return nil
}

// respondError sends an error in an envelope. An error that is Internal or has no code is logged. The caller never gets
// the text of one without a code.
func (s *Server) respondError(c *fiber.Ctx, err error) error {
	var known *core.Error
	var routing *fiber.Error
	if errors.As(err, &routing) {
		known = s.fromRouter(routing)
	} else if !errors.As(err, &known) || known.Code == core.Internal {
		s.Log.Error("request failed", "request", requestID(c), "method", c.Method(), "path",
			core.ClipLogged(c.Path()), "error", err)
		switch {
		case known != nil: // such as a plugin that failed; its message is public
			known = core.Errorf(core.Internal, "%s: the hub %s the request: resend it", known.Message,
				acceptanceText(c))
		case core.IsDatabaseUnavailable(err):
			known = &core.Error{Code: core.Unavailable,
				Message:    "the hub cannot use its database now and " + acceptanceText(c) + " the request: resend it",
				RetryAfter: time.Second}
		default:
			known = core.Errorf(core.Internal, "the hub could not process the request and %s it: resend it",
				acceptanceText(c))
		}
	}
	if requestID(c) == "" { // the HTTP server rejected the request before identify
		c.Set(fiber.HeaderXRequestID, core.NewID(s.Clock.Now()).String())
	}
	body := envelope{Status: "error", Message: known.Message, Errors: known.Violations}
	switch known.Code {
	case core.Unauthenticated:
		c.Set(fiber.HeaderWWWAuthenticate, "apikey")
	case core.Internal:
		body.RequestID = requestID(c)
	}
	if known.RetryAfter > 0 {
		c.Set(fiber.HeaderRetryAfter, seconds(known.RetryAfter))
	}
	return respond(c, problem.Status(known.Code), body)
}

// acceptanceText says whether a failed request may have been accepted. A request that only reads, or that reached no
// handler, was not accepted.
func acceptanceText(c *fiber.Ctx) string {
	if c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead || c.Locals(localWaiting) == true {
		return "has not accepted"
	}
	return "may or may not have accepted"
}

// fromRouter converts the errors of the router and of the HTTP server.
func (s *Server) fromRouter(err *fiber.Error) *core.Error {
	switch err.Code {
	case http.StatusNotFound:
		return core.Errorf(core.NotFound, "unknown path: see /docs")
	case http.StatusMethodNotAllowed:
		return core.Errorf(core.MethodNotAllowed,
			"this path does not support the method: see the Allow header")
	case http.StatusRequestTimeout:
		return core.Errorf(core.TooSlow, "the request did not arrive in time")
	case http.StatusRequestHeaderFieldsTooLarge:
		return core.Errorf(core.Invalid, "the request headers are too large")
	default:
		return core.Errorf(core.Invalid, "the request is not valid HTTP")
	}
}

// pluralize formats a number with its noun: 1 store, 2 stores.
func pluralize(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
