package web

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/inbound"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// headerPlatformSecret contains the callback key of a platform that does not send Authorization.
const headerPlatformSecret = "X-Platform-Secret"

// postCallback processes a request of an aggregator before it responds. The aggregator's plugin parses the request.
func (s *Server) postCallback(c *fiber.Ctx, _ core.Caller) error {
	business, err := strconv.ParseInt(c.Query("business", "0"), 10, 64)
	if err != nil || business < 0 {
		return core.Errorf(core.Invalid, "business must be the id of a business")
	}
	sent := readBody(c)
	if sent.err != nil {
		return sent.err
	}
	body := sent.bytes
	callback := relay.InboundCallback{
		Platform: pathParam(c, "platform"), Kind: pathParam(c, "kind"), Key: callbackKey(c),
		Business: core.BusinessID(business), Headers: headers(c), Body: body,
	}
	caller, err := s.Callers.Authenticate(c.UserContext(), callback)
	if err != nil {
		if core.CodeOf(err) == core.Unauthenticated {
			s.Observer.CallbackUnverified()
		}
		s.Log.Info("callback rejected", "request", requestID(c), "platform", callback.Platform, "kind", callback.Kind,
			"business", business, "reason", err)
		return err
	}
	inbound.MarkAuthenticated(c.Context().Conn())
	c.Locals(localBusiness, caller.Business)
	for _, credential := range []string{"authorization", "cookie", strings.ToLower(headerPlatformSecret),
		caller.VerifiedBy} {
		delete(callback.Headers, credential)
	}
	message, err := s.readCallback(c, relay.InboundRequest{
		Caller: caller, Kind: callback.Kind, Query: cloneStrings(c.Queries()), Headers: callback.Headers, Body: body,
		ReceivedAt: s.Clock.Now(),
	})
	switch {
	case err != nil:
		return err
	case message.Order != nil:
		return s.placeCallback(c, caller, message.Order)
	case message.Cancellation != nil:
		return s.cancelCallback(c, caller, order.Cancellation{
			Platform: caller.Platform, PlatformOrderID: message.Cancellation.PlatformOrderID,
			Reason: message.Cancellation.Reason})
	case message.Outcome != nil:
		if err := s.Actions.Settle(c.UserContext(), caller.Business, caller.Platform, *message.Outcome); err != nil {
			return err
		}
		return respond(c, http.StatusOK, envelope{Status: "success", Message: "outcome recorded"})
	default:
		return respond(c, http.StatusOK, envelope{Status: "success", Message: "nothing to do: " + message.Ignored})
	}
}

// readCallback throttles and interprets a request. If it contains an order and fails, the order is recorded as
// rejected.
func (s *Server) readCallback(c *fiber.Ctx, request relay.InboundRequest) (message relay.Message, err error) {
	if err = s.throttle(c, request.Business, LimitCallbacks, request.Platform); err == nil {
		message, err = s.Callbacks.Read(c.UserContext(), request)
	}
	if err == nil {
		return message, nil
	}
	if id, ok := s.Callbacks.HasOrder(request); ok {
		rejection := order.NewRejection(err, request.Body)
		rejection.PlatformOrderID = cmp.Or(id, rejection.PlatformOrderID)
		rejection.Business, rejection.Platform = request.Business, request.Platform
		s.storeRejection(c, rejection)
	}
	return message, err
}

// cancelCallback cancels an order for its aggregator. The order may arrive after its cancellation.
func (s *Server) cancelCallback(c *fiber.Ctx, caller relay.Caller, cancellation order.Cancellation) error {
	id, from, err := s.Orders.Cancel(c.UserContext(), caller.Business, cancellation)
	switch {
	case err != nil:
		return err
	case id == 0:
		return respond(c, http.StatusOK,
			envelope{Status: "success", Message: "the order is unknown so far, and is cancelled when it arrives"})
	}
	return respond(c, http.StatusOK,
		orderResponse{"success", changedMessage(from, order.Change{To: order.Cancelled}), id})
}

func (s *Server) placeCallback(c *fiber.Ctx, caller relay.Caller, body []byte) error {
	result, err := s.placeCallbackOrder(c, caller, body)
	if err != nil {
		s.recordRejected(c, caller.Business, caller.Platform, body, err)
	}
	if core.CodeOf(err) == core.NotFound {
		err = errors.Join(err, s.rejectOrder(c, caller, body, err))
	}
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, orderResponse{"success", placedMessage(result), result.OrderID})
}

func (s *Server) placeCallbackOrder(c *fiber.Ctx, caller relay.Caller, body []byte) (order.PlaceResult, error) {
	body, err := s.resolveStore(c, caller, body)
	if err != nil {
		return order.PlaceResult{}, err
	}
	draft, err := order.Decode(body)
	if err != nil {
		return order.PlaceResult{}, err
	}
	draft.Platform = caller.Platform
	return s.place(c,
		order.PlaceRequest{Business: caller.Business, Actor: "platform:" + caller.Platform, Draft: draft})
}

// rejectOrder notifies the aggregator that its order names an unknown store.
func (s *Server) rejectOrder(c *fiber.Ctx, caller relay.Caller, body []byte, reason error) error {
	rejection := relay.OrderAcknowledgePayload{Reason: reason.Error()}
	var named struct {
		OrderID string `json:"platform_order_id"`
		StoreID string `json:"platform_store_id"`
	}
	if err := json.Unmarshal(body, &named); err != nil || named.OrderID == "" {
		return err
	}
	rejection.PlatformOrderID, rejection.PlatformStoreID = named.OrderID, named.StoreID
	s.Log.Warn("order rejected", "request", requestID(c), "business", caller.Business, "platform",
		caller.Platform, "platform_order_id", named.OrderID, "reason", reason)
	return s.Rejections.Reject(c.UserContext(), caller, rejection)
}

// resolveStore adds the store's ref_id to an order with the aggregator's id of the store.
func (s *Server) resolveStore(c *fiber.Ctx, caller relay.Caller, body []byte) ([]byte, error) {
	var members map[string]jsontext.Value
	var named struct {
		RefID      string `json:"store_ref_id"`
		PlatformID string `json:"platform_store_id"`
	}
	if err := json.Unmarshal(body, &named); err != nil || named.RefID != "" || named.PlatformID == "" {
		return body, nil // order.Decode reports the error
	}
	ref, err := s.PlatformStores.StoreRef(c.UserContext(), caller.Business, caller.Platform, named.PlatformID)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, err
	}
	if members["store_ref_id"], err = json.Marshal(ref); err != nil {
		return nil, err
	}
	return json.Marshal(members)
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
