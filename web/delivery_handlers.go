package web

import (
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// deliveryBody is a delivery in a response. Times are RFC 3339, in UTC.
type deliveryBody struct {
	ID          core.ID        `json:"id"`
	WebhookID   int64          `json:"webhook_id,omitzero"`
	EventID     core.ID        `json:"event_id"`
	EventType   core.EventType `json:"event_type"`
	Reference   string         `json:"reference,omitzero"`
	OrderID     int64          `json:"order_id,omitzero"`
	URL         string         `json:"url"`
	State       webhook.State  `json:"state"`
	HeldBecause string         `json:"held_because,omitzero"`
	Attempts    int            `json:"attempts"`
	CreatedAt   time.Time      `json:"created_at"`
	NextAttempt time.Time      `json:"next_attempt_at,omitzero"`
	FinishedAt  time.Time      `json:"finished_at,omitzero"`
	LastStatus  int            `json:"last_status,omitzero"`
	LastError   string         `json:"last_error,omitzero"`
	TraceID     string         `json:"trace_id,omitzero"`
}

func deliveryOf(r webhook.DeliveryRecord) deliveryBody {
	return deliveryBody{
		ID: r.ID, WebhookID: r.WebhookID, EventID: r.EventID, EventType: r.EventType, Reference: r.Reference,
		OrderID: r.OrderID, URL: r.URL, State: r.State,
		HeldBecause: r.HeldMessage, Attempts: r.Attempts, CreatedAt: r.CreatedAt.UTC(),
		NextAttempt: r.NextAttempt.UTC(), FinishedAt: r.FinishedAt.UTC(),
		LastStatus: r.LastStatus, LastError: r.LastError, TraceID: r.TraceID,
	}
}

// attemptBody is an attempt in a response. The times of its phases are milliseconds since its start.
type attemptBody struct {
	N               int                `json:"attempt"`
	StartedAt       time.Time          `json:"started_at"`
	URL             string             `json:"url"`
	RequestHeaders  map[string]string  `json:"request_headers"`
	Status          int                `json:"status,omitzero"`
	ErrorClass      webhook.ErrorClass `json:"error_class,omitzero"`
	Error           string             `json:"error,omitzero"`
	ResponseHeaders map[string]string  `json:"response_headers"`
	ResponseBody    string             `json:"response_body"`
	Timing          map[string]float64 `json:"timing_ms"`
	SentTwice       bool               `json:"sent_twice,omitzero"`
}

func attemptOf(a webhook.AttemptRecord) attemptBody {
	body := attemptBody{
		N: a.N, StartedAt: a.StartedAt.UTC(), URL: a.URL, RequestHeaders: a.RequestHeaders, Status: a.Status,
		ErrorClass: a.ErrorClass, Error: a.Error,
		ResponseHeaders: a.ResponseHeaders, ResponseBody: string(a.ResponseBody), Timing: map[string]float64{},
		SentTwice: a.SentTwice,
	}
	if body.ResponseHeaders == nil { // no response
		body.ResponseHeaders = map[string]string{}
	}
	if !utf8.ValidString(body.ResponseBody) {
		body.ResponseBody = strings.ToValidUTF8(body.ResponseBody, "\uFFFD")
	}
	for name, at := range map[string]time.Duration{
		"dns": a.Timing.DNS, "connect": a.Timing.Connect, "tls": a.Timing.TLS, "first_byte": a.Timing.FirstByte,
		"total": a.Timing.Total,
	} {
		if at > 0 {
			body.Timing[name] = float64(at.Microseconds()) / 1000
		}
	}
	return body
}

// deliveryStates are the values of the query parameter state.
var deliveryStates = map[string]webhook.State{
	"": "", "pending": webhook.Pending, "held": webhook.Held, "delivered": webhook.Delivered, "failed": webhook.Failed,
}

// listDeliveries returns a page of deliveries, newest first.
func (s *Server) listDeliveries(c *fiber.Ctx, caller core.Caller) error {
	var v core.Violations
	filter := webhook.Filter{Reference: strings.Clone(c.Query("reference"))}
	filter.Limit = intParam(c, "limit", intRange{50, 1, 200}, &v)
	filter.WebhookID = int64(intParam(c, "webhook_id", intRange{0, 1, 1 << 53}, &v))
	filter.OrderID = int64(intParam(c, "order_id", intRange{0, 1, 1 << 53}, &v))
	filter.From, filter.To = timeParam(c, "from", &v), timeParam(c, "to", &v)
	state, known := deliveryStates[c.Query("state")]
	if !known {
		addUnlisted(c, "state", []string{"pending", "held", "delivered", "failed"}, &v)
	}
	filter.State = state
	if name := strings.Clone(c.Query("event_type")); name != "" {
		if filter.EventType, known = core.ParseEventType(name); !known {
			addUnlisted(c, "event_type", core.EventTypes(), &v)
		}
	}
	filter.Before = afterParam(c, uuid.Parse, &v)
	if err := v.Err(); err != nil {
		return err
	}
	limit := filter.Limit
	filter.Limit++
	records, err := s.Deliveries.List(c.UserContext(), caller.Business, filter)
	if err != nil {
		return err
	}
	records, meta := pageOf(records, limit, func(one webhook.DeliveryRecord) string { return one.ID.String() })
	list := make([]deliveryBody, len(records))
	for i, record := range records {
		list[i] = deliveryOf(record)
	}
	return respond(c, http.StatusOK, struct {
		Deliveries []deliveryBody `json:"deliveries"`
		Meta       pageMeta       `json:"meta"`
	}{list, meta})
}

// getDelivery returns a delivery with its body and attempts.
func (s *Server) getDelivery(c *fiber.Ctx, caller core.Caller) error {
	record, attempts, err := s.Deliveries.Get(c.UserContext(), caller.Business, deliveryID(c))
	if err != nil {
		return err
	}
	list := make([]attemptBody, len(attempts))
	for i, attempt := range attempts {
		list[i] = attemptOf(attempt)
	}
	return respond(c, http.StatusOK, struct {
		deliveryBody
		Body jsontext.Value `json:"body,omitzero"`
		List []attemptBody  `json:"attempt_list"`
	}{deliveryOf(record), record.Body, list})
}

// retryDelivery makes a delivery due now.
func (s *Server) retryDelivery(c *fiber.Ctx, caller core.Caller) error {
	if err := s.Deliveries.Retry(c.UserContext(), caller.Business, deliveryID(c)); err != nil {
		return err
	}
	return respond(c, http.StatusOK,
		envelope{Status: "success", Message: "the delivery is due now; read it to see the attempt"})
}

// deliveryID returns the id in the path. An invalid id becomes the zero id, which no delivery has.
func deliveryID(c *fiber.Ctx) core.ID {
	id, err := uuid.Parse(pathParam(c, "id"))
	if err != nil {
		return core.ID{}
	}
	return id
}
