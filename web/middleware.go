package web

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/inbound"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/web/body"
)

// Keys of fiber locals that middleware sets.
const (
	localRequestID = "request_id"
	localBusiness  = "business"
	localWaiting   = "waiting" // true until the handler runs
)

var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// identify sets a request id and a deadline. It uses a valid X-Request-Id of the caller.
func (s *Server) identify(c *fiber.Ctx) error {
	id := strings.Clone(c.Get(fiber.HeaderXRequestID))
	if !requestIDPattern.MatchString(id) {
		id = core.NewID(s.Clock.Now()).String()
	}
	c.Locals(localRequestID, id)
	c.Set(fiber.HeaderXRequestID, id)
	ctx, cancel := context.WithTimeout(c.UserContext(), handlerDeadline)
	defer cancel()
	c.SetUserContext(core.ParseTrace(c.Get(headerTrace)).NewContext(ctx))
	return c.Next()
}

// headerTrace contains the caller's trace (W3C Trace Context).
const headerTrace = "Traceparent"

func requestID(c *fiber.Ctx) string {
	id, _ := c.Locals(localRequestID).(string)
	return id
}

// healthPath is the path of health, the only call that succeeds during a shutdown.
const healthPath = "/healthz"

// probePaths are requested every few seconds. They are excluded from metrics and traces, and logged at debug level.
var probePaths = []string{healthPath, "/readyz", "/metrics"}

// probePath returns the path of a request as in probePaths.
func probePath(c *fiber.Ctx) string { return strings.TrimSuffix(c.Path(), "/") }

// observe logs and counts every request. It renders errors itself, to see the final status.
func (s *Server) observe(c *fiber.Ctx) error {
	start := time.Now()
	tracer, observer, level := s.Tracer, s.Observer.RequestHandled, slog.LevelInfo
	if slices.Contains(probePaths, probePath(c)) {
		tracer, observer, level = nil, func(string, string, int, time.Duration) {}, slog.LevelDebug
	}
	ctx, span := tracer.Start(c.UserContext(), core.ServerSpan, c.Method(), "")
	c.SetUserContext(ctx)
	if err := c.Next(); err != nil {
		if err := s.respondError(c, err); err != nil {
			return err
		}
	}
	status, took := c.Response().StatusCode(), time.Since(start)
	waiting, _ := c.Locals(localWaited).(time.Duration)
	path := "unknown"
	if r := c.Route(); r != nil && r.Path != "/" {
		path = strings.Clone(r.Path)
	}
	observer(path, strings.Clone(c.Method()), status, took-waiting) // waiting for a job is not slowness of the hub
	business, _ := c.Locals(localBusiness).(core.BusinessID)
	log := s.Log
	if id := core.TraceFromContext(ctx).ID(); id != "" {
		log = log.With("trace_id", id)
		s.endSpan(c, span, path, status)
	}
	if waiting > 0 {
		log = log.With("waited", waiting)
	}
	log.Log(c.UserContext(), level, "request", "request", requestID(c), "method", c.Method(), "path",
		core.ClipLogged(c.Path()), "status", status, "took", took, "business", business)
	return nil
}

// endSpan completes the request's span.
func (s *Server) endSpan(c *fiber.Ctx, span core.Span, path string, status int) {
	span.SetName(strings.Clone(c.Method()) + " " + path)
	span.SetString("servery.request", requestID(c))
	span.SetInt64("http.response.status_code", int64(status))
	wrong := ""
	if status >= 500 {
		wrong = strconv.Itoa(status)
	}
	span.End(wrong)
}

func (s *Server) rejectWhileDraining(c *fiber.Ctx) error {
	if s.draining.Load() && probePath(c) != healthPath {
		c.Set(fiber.HeaderConnection, "close")
		return &core.Error{Code: core.Unavailable, Message: "this server is shutting down: resend the request",
			RetryAfter: time.Second}
	}
	return c.Next()
}

func (s *Server) recoverPanic(c *fiber.Ctx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return c.Next()
}

// reserveResponse reserves the memory of a large response to a read with a key. The response to a change is sent in any
// case. Responses without a key are constant or small.
func (s *Server) reserveResponse(c *fiber.Ctx) error {
	err := c.Next()
	business, known := c.Locals(localBusiness).(core.BusinessID)
	if err != nil || !known || c.Method() != fiber.MethodGet {
		return err
	}
	share := s.Memory.ReservationOf(limit.Responses, limit.Sender{Business: business})
	return body.ReserveResponse(c.UserContext(), c.Response(), share)
}

// throttle counts the request against the limit of the business, or of one of its platforms. It sets the RateLimit
// headers.
func (s *Server) throttle(c *fiber.Ctx, business core.BusinessID, name Limit, platform string) error {
	rule := s.Limits[name]
	if name == "" {
		return nil
	}
	counter := string(name)
	if platform != "" {
		counter += "/" + platform
	}
	return count(c, s.Throttle, business, counter, rule)
}

// throttleAddress checks a limit of the client's address before the client is authenticated, in this replica. It does
// not read the database. At a shared URL it counts the request. Elsewhere countRejected counts those that are rejected,
// so that the platforms of many businesses can use one address.
func (s *Server) throttleAddress(c *fiber.Ctx, name Limit) error {
	rule := s.Limits[name]
	if atSharedURL(c) {
		return count(c, s.Addresses, 0, s.network(c), rule)
	}
	decision, err := s.Addresses.Peek(c.UserContext(), 0, rejectedBy+s.network(c), rule)
	if err != nil || decision.Allowed {
		return err
	}
	return exceeded(c, rule, decision)
}

// rejectedBy begins the names of the counters of rejected requests.
const rejectedBy = "rejected/"

// countRejected counts a request that failed authentication, or that could not be authenticated, for throttleAddress.
func (s *Server) countRejected(c *fiber.Ctx, name Limit, cause error) {
	code := core.CodeOf(cause)
	if atSharedURL(c) || code != core.Unauthenticated && code != core.Unavailable {
		return
	}
	if _, err := s.Addresses.Take(c.UserContext(), 0, rejectedBy+s.network(c), s.Limits[name]); err != nil {
		s.Log.Warn("counting a rejected request failed", "request", requestID(c), "error", err)
	}
}

func atSharedURL(c *fiber.Ctx) bool { return strings.HasPrefix(c.Route().Path, sharedPath) }

// network returns the network of the client's address.
func (s *Server) network(c *fiber.Ctx) string {
	return inbound.ClientNetwork(c.Context().RemoteIP(), c.Request().Header.PeekAll(fiber.HeaderXForwardedFor),
		s.Proxies).String()
}

// count counts a request against a rule, and sets the headers that describe it.
func count(c *fiber.Ctx, throttle Throttle, business core.BusinessID, counter string, rule limit.Rule) error {
	if rule.Off() {
		return nil
	}
	decision, err := throttle.Take(c.UserContext(), business, counter, rule)
	if err != nil {
		return err
	}
	describeLimit(c, decision)
	if decision.Allowed {
		return nil
	}
	return exceeded(c, rule, decision)
}

func describeLimit(c *fiber.Ctx, decision limit.Decision) {
	c.Set("RateLimit-Limit", strconv.Itoa(decision.Limit))
	c.Set("RateLimit-Remaining", strconv.Itoa(decision.Remaining))
	c.Set("RateLimit-Reset", seconds(decision.Reset))
}

// exceeded returns the error of a request above a limit.
func exceeded(c *fiber.Ctx, rule limit.Rule, decision limit.Decision) error {
	describeLimit(c, decision)
	return &core.Error{
		Code: core.Throttled, RetryAfter: decision.RetryAfter,
		Message: fmt.Sprintf("too many requests, at most %d in %s: retry in %s s", rule.Count, rule.Per,
			seconds(decision.RetryAfter)),
	}
}

// seconds formats a duration in whole seconds, rounded up, so that a client that waits so long is not throttled.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
