package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/presence"
)

// orderResponse is the response to a request that places or changes an order.
type orderResponse struct {
	Status  string `json:"status"`
	Message string `json:"message"`
	OrderID int64  `json:"order_id"`
}

// postOrder stores an order and its event, and responds.
func (s *Server) postOrder(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if core.CodeOf(err) == core.TooLarge {
		err = core.Errorf(core.TooLarge, "the order is larger than %d bytes", min(s.MaxBody, order.MaxBody))
	}
	if err != nil {
		return s.refuseOrder(c, caller, readBody(c).bytes, err)
	}
	result, err := s.placeChannelOrder(c, caller, body)
	if err != nil {
		return s.refuseOrder(c, caller, body, err)
	}
	return respond(c, http.StatusOK, orderResponse{"success", result.Text(), result.OrderID})
}

// refuseOrder records a rejected order and returns its error, or that of a key that no longer works.
func (s *Server) refuseOrder(c *fiber.Ctx, caller core.Caller, body []byte, reason error) error {
	if err := s.checkKey(c); err != nil {
		return err
	}
	s.recordRejected(c, caller.Business, caller.Platform, body, reason)
	return reason
}

func (s *Server) placeChannelOrder(c *fiber.Ctx, caller core.Caller, body []byte) (none order.PlaceResult, err error) {
	draft, err := order.Decode(body)
	if err != nil {
		return none, err
	}
	allowed, err := s.mayPlaceFor(c, caller, draft.Platform)
	if err != nil {
		return none, err
	}
	if !allowed {
		return none, core.Errorf(core.Forbidden, "this API key can only place orders of the platform %q",
			caller.Platform)
	}
	request := order.PlaceRequest{Business: caller.Business, Actor: caller.Actor(), Draft: draft,
		Credential: caller.Credential}
	return s.Desk.Place(c.UserContext(), request)
}

// mayPlaceFor reports whether the caller may place orders of a platform, by its name or an alias.
func (s *Server) mayPlaceFor(c *fiber.Ctx, caller core.Caller, platform string) (bool, error) {
	if caller.Platform == "" || caller.Platform == platform {
		return true, nil
	}
	names, err := s.Platforms.Names(c.UserContext(), caller.Business)
	return caller.Platform == names.Resolve(platform), err
}

// recordRejected stores a rejected order for the merchant's support. If the platform is unknown, it uses the one in the
// body. An error does not change the response.
func (s *Server) recordRejected(c *fiber.Ctx, business core.BusinessID, platform string, body []byte, reason error) {
	rejection := order.NewRejection(reason, body)
	rejection.Business = business
	if platform != "" {
		rejection.Platform = platform
	} else if names, err := s.Platforms.Names(c.UserContext(), business); err == nil {
		rejection.Platform = names.Resolve(rejection.Platform)
	}
	s.storeRejection(c, rejection)
}

// recordTimeout bounds each wait for the record of a rejected order, because its sender waits too.
const recordTimeout = 2 * time.Second

func (s *Server) storeRejection(c *fiber.Ctx, rejection order.Rejection) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.UserContext()), recordTimeout)
	defer cancel()
	if err := s.Orders.RecordRejected(ctx, rejection); err != nil {
		s.Log.Warn("recording a rejected order failed", "request", requestID(c), "business", rejection.Business,
			"platform_order_id", rejection.PlatformOrderID, "reason", rejection.Reason, "error", err)
	}
}

// putOrderStatus changes the state of an order for the merchant.
func (s *Server) putOrderStatus(c *fiber.Ctx, caller core.Caller) error {
	return s.moveOrder(c, caller, order.States(), false)
}

// putChannelOrderStatus completes or cancels an order for its channel.
func (s *Server) putChannelOrderStatus(c *fiber.Ctx, caller core.Caller) error {
	return s.moveOrder(c, caller, []order.State{order.Completed, order.Cancelled}, true)
}

func (s *Server) moveOrder(c *fiber.Ctx, caller core.Caller, allowed []order.State, byChannel bool) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	id := idParam(c, "id")
	change, err := order.DecodeChange(body)
	if err != nil {
		return withOrder(id, err)
	}
	if !slices.Contains(allowed, change.To) {
		return core.Errorf(core.Forbidden, "a channel may only complete or cancel an order")
	}
	change.Actor, change.Platform, change.ByChannel = caller.Actor(), caller.Platform, byChannel
	from, err := s.Orders.Change(c.UserContext(), caller.Business, id, change)
	if err != nil {
		return withOrder(id, err)
	}
	s.recordHeartbeat(caller, presence.Heartbeat{OrderID: id})
	return respond(c, http.StatusOK, orderResponse{"success", change.Result(from), id})
}

// getOrder returns an order in its current state.
func (s *Server) getOrder(c *fiber.Ctx, caller core.Caller) error {
	record, err := s.Orders.Get(c.UserContext(), caller.Business, caller.Platform, idParam(c, "id"))
	if err != nil {
		return err
	}
	view, err := record.ToAPI()
	if err != nil {
		return err
	}
	if caller.Scope == core.ScopeChannel { // channels know the platform by its own name
		view = view.WithPlatform(record.Platform)
	}
	return respond(c, http.StatusOK, view)
}

// listOrders returns a page of orders, newest first.
func (s *Server) listOrders(c *fiber.Ctx, caller core.Caller) error {
	var v core.Violations
	filter := order.Filter{
		Platform: strings.Clone(c.Query("platform")), StoreRefID: strings.Clone(c.Query("store_ref_id")),
		From: timeParam(c, "from", &v), To: timeParam(c, "to", &v), Limit: intParam(c, "limit", intRange{50, 1, 200},
			&v),
		Reference: strings.Clone(c.Query("order_ref_id")), Escalated: boolParam(c, "escalated", &v),
	}
	if name := c.Query("state"); name != "" {
		known := false
		if filter.State, known = order.ParseState(name); !known {
			addUnlisted(c, "state", order.States(), &v)
		}
	}
	if after := c.Query("after"); after != "" {
		known := false
		if filter.After, known = order.ParseCursor(strings.Clone(after)); !known {
			v.AddBody("after", "value", "must be the next value of an earlier response")
		}
	}
	if err := v.Err(); err != nil {
		return err
	}
	names, err := s.Platforms.Names(c.UserContext(), caller.Business)
	if err != nil {
		return err
	}
	filter.Platform = names.Resolve(filter.Platform)
	list, next, err := s.Orders.List(c.UserContext(), caller.Business, filter)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Platform = names.EventName(list[i].Platform)
	}
	meta := pageMeta{Limit: filter.Limit}
	if next.ID != 0 {
		meta.Next = next.String()
	}
	return respond(c, http.StatusOK, struct {
		Orders []order.Summary `json:"orders"`
		Meta   pageMeta        `json:"meta"`
	}{list, meta})
}

// timeParam returns a time of the query string, in epoch milliseconds.
func timeParam(c *fiber.Ctx, name string, v *core.Violations) time.Time {
	text := c.Query(name)
	if text == "" {
		return time.Time{}
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 1e12 || ms >= 1e13 { // smaller values are seconds
		v.AddBody(name, "range", "must be a time in epoch milliseconds, not "+core.Quote(text))
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// withOrder adds the order id to the message of an error; 0 means that it is unknown.
func withOrder(id int64, err error) error {
	var known *core.Error
	if id == 0 || !errors.As(err, &known) || known.Code != core.Invalid && known.Code != core.Conflict {
		return err
	}
	about := *known
	about.Message = fmt.Sprintf("order %d: %s", id, known.Message)
	return &about
}

// bodyOrderID returns the order id of a rejected body, or 0.
func bodyOrderID(body []byte) int64 {
	var sent struct {
		OrderID core.PositiveInt `json:"order_id"`
	}
	_ = json.Unmarshal(body, &sent) // already reported
	return int64(sent.OrderID)
}

// idParam returns an id in the path. An invalid id becomes 0, which no object has.
func idParam(c *fiber.Ctx, name string) int64 {
	id, err := strconv.ParseInt(c.Params(name), 10, 64)
	if err != nil || id < 1 {
		return 0
	}
	return id
}
