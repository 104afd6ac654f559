package web

import (
	"context"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/web/body"
)

// The bodies that routes take. SERVERY_MAX_BODY bounds each of them too.
var (
	noBody    = body.Limit{}
	small     = body.Limit{Bytes: 64 << 10, Class: limit.Small, Cost: parsed}
	webhooks  = body.Limit{Bytes: 512 << 10, Class: limit.Small, Cost: parsed} // 32 headers of 4 KiB, escaped
	lists     = body.Limit{Bytes: 4 << 20, Class: limit.Small, Cost: parsed}   // 12,000 references, 50 webhooks
	orders    = body.Limit{Bytes: order.MaxBody, Class: limit.Small, Cost: parsed}
	callbacks = body.Limit{Bytes: order.MaxBody, Class: limit.Anonymous, Cost: parsed} // the body may show who calls
	bulk      = body.Limit{Bytes: 1 << 30, Class: limit.Large, Cost: stored}
)

// The memory that bodies are decoded into, at most; TestDecodedBodiesStayWithinTheirEstimatedMemory measures it.
var (
	parsed = body.Cost{Byte: 4, Value: 64}
	stored = body.Cost{Byte: 6, Value: 64} // and written to the database as a job

	// JobCost is what the body of a job is decoded into while the job runs.
	JobCost = body.Cost{Byte: 8, Value: 96}
)

// Keys of what receive leaves for those behind it.
const (
	localBody   = "body"
	localUnread = "unread" // how many bytes Finish may read of what is left of the body
)

// maxUnread is how many bytes are read, and dropped, of the body of a sender who is not
// known, so that the connection can serve the next request.
const maxUnread = 64 << 10

// requestBody is the body of a request, or why it could not be read.
type requestBody struct {
	bytes []byte
	err   error
}

// readBody is the body that receive has read.
func readBody(c *fiber.Ctx) requestBody {
	s, _ := c.Locals(localBody).(requestBody)
	return s
}

// streamBodies has bodies read by receive alone. After each request the connection is
// at the next one, or is closed.
func (s *Server) streamBodies() {
	server := s.App.Server()
	handle := server.Handler
	server.Handler = func(c *fasthttp.RequestCtx) {
		handle(c)
		most, known := c.UserValue(localUnread).(int)
		if !known {
			most = maxUnread
		}
		body.DrainRest(c, most)
	}
	server.FormValueFunc = func(*fasthttp.RequestCtx, string) []byte { return nil } // it would unpack without a bound
}

// receive reads the body of a request that may be served, holds its memory while it is
// served, and has the handler answer. The time that a slow sender takes is not the handler's.
func (s *Server) receive(c *fiber.Ctx, r route, caller core.Caller) error {
	if r.body.Bytes == 0 {
		c.Locals(localWaiting, false)
		if err := r.handle(c, caller); err != nil {
			return describeNotFound(c, err)
		}
		return s.awaitJob(c)
	}
	share := s.Memory.NewReservation(r.body.Class)
	defer share.Release()
	bytes, err := body.Read(c.UserContext(), c.Context(), r.body, &share)
	c.Locals(localBody, requestBody{bytes, err})
	if n := c.Request().Header.ContentLength(); n < 0 || n > body.Prefetched {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.UserContext()), handlerDeadline)
		defer cancel()
		c.SetUserContext(ctx)
	}
	c.Locals(localWaiting, err != nil)
	if err := r.handle(c, caller); err != nil {
		return describeNotFound(c, err)
	}
	c.Locals(localBody, nil) // a request that waits for its job holds no memory
	share.Release()
	return s.awaitJob(c)
}
