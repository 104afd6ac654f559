package web

import (
	"bytes"
	"context"
	"slices"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/web/body"
)

// The body limits of the routes. SERVERY_MAX_BODY also limits each of them.
var (
	noBody   = body.Limit{}
	small    = body.Limit{Bytes: 64 << 10, Class: limit.Small, Cost: parsed}
	webhooks = body.Limit{Bytes: 512 << 10, Class: limit.Small, Cost: parsed} // 32 escaped headers of 4 KiB
	lists    = body.Limit{Bytes: 4 << 20, Class: limit.Small, Cost: parsed}   // 12,000 references, 50 webhooks
	orders   = body.Limit{Bytes: order.MaxBody, Class: limit.Small, Cost: parsed}
	// callbacks are received before authentication, which may need the body.
	callbacks = body.Limit{Bytes: order.MaxBody, Class: limit.Anonymous, Cost: parsed}
	bulk      = body.Limit{Bytes: 1 << 30, Class: limit.Large, Cost: stored}
)

// The maximum memory of decoded bodies. TestDecodedBodiesStayWithinTheirEstimatedMemory measures it.
var (
	parsed = body.Cost{Byte: 4, Value: 80}
	stored = body.Cost{Byte: 6, Value: 64} // decoded, and written to the database as a job

	// JobCost is the memory of a job's body while the job runs.
	JobCost = body.Cost{Byte: 8, Value: 96}
)

// Keys of fiber locals that receive sets.
const (
	localBody   = "body"
	localUnread = "unread" // how many remaining bytes of the body DrainRest may read
)

// byteOrderMark may precede JSON text in files of Windows (RFC 8259, section 8.1).
var byteOrderMark = []byte("\xef\xbb\xbf")

// maxUnread bounds the bytes of an unauthenticated body that are read and dropped, so that the connection can serve the
// next request.
const maxUnread = 64 << 10

// requestBody is the body of a request, or the error of reading it.
type requestBody struct {
	bytes []byte
	err   error
}

// readBody returns the body that receive has read.
func readBody(c *fiber.Ctx) requestBody {
	s, _ := c.Locals(localBody).(requestBody)
	return s
}

// otherMethod replaces methods that fiber does not know, because it would respond to them before any middleware. No
// route has it. OpenTelemetry names them so, too.
const otherMethod = "_OTHER"

// wrapHandler makes receive the only reader of bodies. After each request, the rest of its body is skipped or the
// connection is closed.
func (s *Server) wrapHandler() {
	server := s.App.Server()
	handle := server.Handler
	server.Handler = func(c *fasthttp.RequestCtx) {
		if !slices.Contains(fiber.DefaultMethods, string(c.Method())) {
			c.Request.Header.SetMethod(otherMethod)
		}
		handle(c)
		maxBytes, known := c.UserValue(localUnread).(int)
		if !known {
			maxBytes = maxUnread
		}
		body.DrainRest(c, maxBytes)
	}
	// fasthttp would decompress the body without a limit.
	server.FormValueFunc = func(*fasthttp.RequestCtx, string) []byte { return nil }
}

// receive reads the body of a request and calls the handler. It reserves the memory of the body until the handler
// returns. The handler has a separate deadline, which excludes the time of a slow client.
func (s *Server) receive(c *fiber.Ctx, r route, caller core.Caller) error {
	if r.body.Bytes == 0 {
		c.Locals(localWaiting, false)
		if err := r.handle(c, caller); err != nil {
			return describeNotFound(c, err)
		}
		return s.awaitJob(c)
	}
	sender := limit.Sender{Business: caller.Business}
	if caller.Business == 0 { // it is authenticated later
		sender = body.ClientSender(c.Context(), s.Proxies)
	}
	share := s.Memory.ReservationOf(r.body.Class, sender)
	defer share.Release()
	sent, err := body.Read(c.UserContext(), c.Context(), r.body, &share)
	if r.scope != platformKey { // a signature of an aggregator covers it
		sent = bytes.TrimPrefix(sent, byteOrderMark)
	}
	c.Locals(localBody, requestBody{sent, err})
	if n := c.Request().Header.ContentLength(); n < 0 || n > body.Prefetched {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.UserContext()), handlerDeadline)
		defer cancel()
		c.SetUserContext(ctx)
	}
	c.Locals(localWaiting, err != nil)
	if err := r.handle(c, caller); err != nil {
		return describeNotFound(c, err)
	}
	c.Locals(localBody, nil) // a request that waits for its job reserves no memory
	share.Release()
	return s.awaitJob(c)
}
