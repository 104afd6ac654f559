package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/callback"
	"github.com/servery-hub/servery/core/inbound"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// headerPlatformSecret contains the callback key of a platform that does not send Authorization.
const headerPlatformSecret = "X-Platform-Secret"

// postCallback processes a request of an aggregator before it responds. The aggregator's plugin parses the request.
func (s *Server) postCallback(c *fiber.Ctx, _ core.Caller) error {
	return s.handleCallback(c, func(_ relay.InboundCallback, request relay.InboundRequest) error {
		return s.processCallback(c, request)
	})
}

// handleCallback authenticates and throttles a request of an aggregator, and calls handle.
func (s *Server) handleCallback(c *fiber.Ctx,
	handle func(sent relay.InboundCallback, request relay.InboundRequest) error) error {
	sent, err := receivedCallback(c)
	if err != nil {
		return err
	}
	caller, err := s.Callers.Authenticate(c.UserContext(), sent)
	if err != nil {
		s.observeRejected(c, sent, err)
		return err
	}
	inbound.MarkAuthenticated(c.Context().Conn())
	c.Locals(localBusiness, caller.Business)
	for _, credential := range []string{"authorization", "cookie", strings.ToLower(headerPlatformSecret),
		caller.VerifiedBy} {
		delete(sent.Headers, credential)
	}
	delete(sent.Query, caller.QueryKey)
	request := relay.InboundRequest{Caller: caller, Kind: sent.Kind, Query: sent.Query,
		Headers: sent.Headers, Body: sent.Body, ReceivedAt: s.Clock.Now()}
	err = countRequest(c, caller.Business)
	if err == nil {
		err = s.throttle(c, caller.Business, LimitCallbacks, caller.Platform)
	}
	if err != nil {
		s.recordUnread(c, request, err)
		return err
	}
	if err := s.Callers.Claim(c.UserContext(), caller); err != nil {
		return err
	}
	accepted := false
	defer func() { s.endCallback(c, caller, accepted) }() // also after a panic
	err = handle(sent, request)
	accepted = err == nil && c.Response().StatusCode() < http.StatusMultipleChoices
	return err
}

// rejectionsLogged limits the log lines about rejected requests of a platform.
var rejectionsLogged = limit.Rule{Count: 1, Per: time.Second}

// observeRejected counts and logs a request that was not authenticated.
func (s *Server) observeRejected(c *fiber.Ctx, sent relay.InboundCallback, err error) {
	switch {
	case core.CodeOf(err) == core.Unauthenticated:
		s.Observer.CallbackUnverified()
	case errors.Is(err, relay.ErrUnrouted):
		s.Observer.CallbackUnrouted()
	}
	s.countRejected(c, LimitCallbacks, err)
	platform, plugin := core.ClipLogged(sent.Platform), core.ClipLogged(sent.Plugin)
	decision, limitErr := s.rejections.Take(c.UserContext(), sent.Business, platform+"/"+plugin, rejectionsLogged)
	if limitErr != nil || !decision.Allowed {
		return
	}
	s.Log.Info("callback rejected", "request", requestID(c), "platform", platform, "plugin", plugin, "kind",
		core.ClipLogged(sent.Kind), "business", sent.Business, "reason", core.ClipLogged(err.Error()))
}

// receivedCallback returns the request of an aggregator. A repeated query parameter is invalid, because the tenant and
// the signature must have the same value of it.
func receivedCallback(c *fiber.Ctx) (none relay.InboundCallback, err error) {
	business, err := strconv.ParseInt(c.Query("business", "0"), 10, 64)
	if err != nil || business < 0 {
		return none, core.Errorf(core.Invalid, "business must be the id of a business")
	}
	uri := c.Request().URI()
	if len(c.Queries()) != uri.QueryArgs().Len() {
		return none, core.Errorf(core.Invalid, "each query parameter may occur only once")
	}
	sent := readBody(c)
	return relay.InboundCallback{
		Platform: pathParam(c, "platform"), Plugin: pathParam(c, "plugin"), Kind: pathParam(c, "kind"),
		Store: pathParam(c, "store"),
		Key:   callbackKey(c), Business: core.BusinessID(business), Method: strings.Clone(c.Method()),
		Path: string(uri.PathOriginal()), RawQuery: string(uri.QueryString()),
		Query: cloneStrings(c.Queries()), Headers: headers(c), Body: sent.bytes,
	}, sent.err
}

// endCallback ends the claim of the request's nonce. If that fails, the nonce is free when the claim expires. A replay
// of an accepted request is then processed again, and changes nothing that is already stored.
func (s *Server) endCallback(c *fiber.Ctx, caller relay.Caller, accepted bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.UserContext()), recordTimeout)
	defer cancel()
	if err := s.Callers.End(ctx, caller, accepted); err != nil {
		s.Log.Warn("recording a nonce failed", "request", requestID(c), "business", caller.Business, "platform",
			caller.Platform, "error", err)
	}
}

// processCallback interprets a request, stores what it means and responds. If it contains an order that cannot be
// read, the order is recorded as rejected.
func (s *Server) processCallback(c *fiber.Ctx, request relay.InboundRequest) error {
	message, err := s.Callbacks.Read(c.UserContext(), request)
	if err != nil && !message.IsCallback {
		s.recordUnread(c, request, err)
	}
	if err != nil {
		return err
	}
	var result callback.Result
	if message.Fetch != nil {
		result.Text = "the request is stored, and the hub fetches its content"
		if err := s.Fetches.Add(c.UserContext(), request, message.Fetch.PlatformOrderID); err != nil {
			s.recordUnread(c, request, err)
			return err
		}
	} else if result, err = s.Desk.Apply(c.UserContext(), request.Caller, message); err != nil {
		if message.Order != nil {
			s.recordRejected(c, request.Business, request.Platform, message.Order, err)
		}
		return err
	}
	switch {
	case message.Reply != nil:
		sendReply(c, *message.Reply, result.OrderID)
		return nil
	case result.OrderID != 0:
		return respond(c, http.StatusOK, orderResponse{"success", result.Text, result.OrderID})
	}
	return respond(c, http.StatusOK, envelope{Status: "success", Message: result.Text})
}

// sendReply replaces the hub's response to a request, which has succeeded, by that of the plugin. A browser must not
// run its body.
func sendReply(c *fiber.Ctx, reply relay.Reply, orderID int64) {
	c.Set(fiber.HeaderContentType, "text/plain; charset=utf-8")
	for name, value := range reply.Headers {
		c.Set(name, value)
	}
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; sandbox")
	c.Status(reply.Status).Response().SetBodyRaw(reply.BodyFor(orderID))
}

// recordUnread records a request that contains an order as a rejected order.
func (s *Server) recordUnread(c *fiber.Ctx, request relay.InboundRequest, reason error) {
	id, ok := s.Callbacks.HasOrder(request)
	if !ok {
		return
	}
	rejection := order.NewRejection(reason, request.Body)
	rejection.PlatformOrderID = cmp.Or(id, rejection.PlatformOrderID)
	rejection.Business, rejection.Platform = request.Business, request.Platform
	s.storeRejection(c, rejection)
}

// callbackKey returns the callback key of the request.
func callbackKey(c *fiber.Ctx) string {
	if scheme, key, _ := strings.Cut(c.Get(fiber.HeaderAuthorization), " "); strings.EqualFold(scheme, "bearer") {
		return strings.Clone(strings.TrimSpace(key))
	}
	return strings.Clone(c.Get(headerPlatformSecret))
}

// headers returns the headers of the request, by lower-case name.
func headers(c *fiber.Ctx) map[string]string {
	list := map[string]string{}
	for name, values := range c.GetReqHeaders() {
		if len(values) > 0 {
			list[strings.ToLower(strings.Clone(name))] = strings.Clone(values[0])
		}
	}
	return list
}

func cloneStrings(m map[string]string) map[string]string {
	copied := make(map[string]string, len(m))
	for name, value := range m {
		copied[strings.Clone(name)] = strings.Clone(value)
	}
	return copied
}
