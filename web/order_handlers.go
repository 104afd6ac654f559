package web

import (
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

// orderResponse is the answer to whoever brings or moves an order.
type orderResponse struct {
	Status  string `json:"status"`
	Message string `json:"message"`
	OrderID int64  `json:"order_id"`
}

// postOrder takes an order in; it is stored, and its event on the way, when the
// answer goes out.
func (s *Server) postOrder(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if core.CodeOf(err) == core.TooLarge {
		err = core.Errorf(core.TooLarge, "the order is larger than %d bytes", min(s.MaxBody, order.MaxBody))
	}
	if err != nil {
		s.recordRejected(c, caller.Business, caller.Platform, readBody(c).bytes, err)
		return err
	}
	receipt, err := s.placeChannelOrder(c, caller, body)
	if err != nil {
		s.recordRejected(c, caller.Business, caller.Platform, body, err)
		return err
	}
	return respond(c, http.StatusOK, orderResponse{"success", placedMessage(receipt), receipt.OrderID})
}

func (s *Server) placeChannelOrder(c *fiber.Ctx, caller core.Caller, body []byte) (none order.PlaceResult, err error) {
	draft, err := order.Decode(body)
	if err != nil {
		return none, err
	}
	own, err := s.mayPlaceFor(c, caller, draft.Platform)
	if err != nil {
		return none, err
	}
	if !own {
		return none, core.Errorf(core.Forbidden, "this API key can only place orders of the platform %q", caller.Platform)
	}
	return s.Intake.Place(c.UserContext(),
		order.PlaceRequest{Business: caller.Business, Actor: caller.Actor(), Draft: draft})
}

// mayPlaceFor tells whether the caller may bring orders of a platform, by its name or an alias.
func (s *Server) mayPlaceFor(c *fiber.Ctx, caller core.Caller, platform string) (bool, error) {
	if caller.Platform == "" || caller.Platform == platform {
		return true, nil
	}
	names, err := s.Platforms.Names(c.UserContext(), caller.Business)
	return caller.Platform == names.Resolve(platform), err
}

// recordRejected keeps what the merchant's support is to find of an order that was not
// taken, on the platform, where that is known, or else as the body names it. The answer
// does not depend on it.
func (s *Server) recordRejected(c *fiber.Ctx, business core.BusinessID, platform string, body []byte, reason error) {
	refused, is := order.NewRejection(reason, body)
	if !is {
		return
	}
	refused.Business = business
	if platform != "" {
		refused.Platform = platform
	} else if names, err := s.Platforms.Names(c.UserContext(), business); err == nil {
		refused.Platform = names.Resolve(refused.Platform)
	}
	if err := s.Orders.RecordRejected(c.UserContext(), refused); err != nil {
		s.Log.Warn("recording a rejected order failed", "request", requestID(c), "business", business,
			"platform_order_id", refused.PlatformOrderID, "reason", reason, "error", err)
	}
}

// placedMessage says what became of an order that was brought. A channel that sends an order
// anew because its customer changed it is told that this is not how it is done.
func placedMessage(r order.PlaceResult) string {
	if r.Duplicate {
		return "the order already exists and was not changed"
	}
	return "order accepted"
}

// putOrderStatus moves an order to another state, for the merchant's system.
func (s *Server) putOrderStatus(c *fiber.Ctx, caller core.Caller) error {
	return s.moveOrder(c, caller, order.States())
}

// putChannelOrderStatus moves an order to its end, for the channel that brought it.
func (s *Server) putChannelOrderStatus(c *fiber.Ctx, caller core.Caller) error {
	return s.moveOrder(c, caller, []order.State{order.Completed, order.Cancelled})
}

func (s *Server) moveOrder(c *fiber.Ctx, caller core.Caller, may []order.State) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	id := orderID(c)
	change, err := order.DecodeChange(body)
	if err != nil {
		return withOrder(id, err)
	}
	if !slices.Contains(may, change.To) {
		return core.Errorf(core.Forbidden, "a channel may only complete or cancel an order")
	}
	change.Actor, change.Platform = caller.Actor(), caller.Platform
	from, err := s.Orders.Change(c.UserContext(), caller.Business, id, change)
	if err != nil {
		return withOrder(id, err)
	}
	s.recordHeartbeat(caller, presence.Heartbeat{OrderID: id})
	return respond(c, http.StatusOK, orderResponse{"success", changedMessage(from, change), id})
}

// changedMessage says what became of a wish to move an order.
func changedMessage(from order.State, change order.Change) string {
	switch {
	case from != change.To:
		return "the order was " + string(from) + " and is " + string(change.To)
	case from == order.Acknowledged && change.PrepMinutes != nil:
		return "the order is already Acknowledged, " +
			"with a preparation time of " + pluralize(int(*change.PrepMinutes), "minute")
	}
	return "the order is " + string(from) + " already, nothing changed"
}

// getOrder reads an order in its present state.
func (s *Server) getOrder(c *fiber.Ctx, caller core.Caller) error {
	record, err := s.Orders.Get(c.UserContext(), caller.Business, caller.Platform, orderID(c))
	if err != nil {
		return err
	}
	reading, err := record.ToAPI()
	if err != nil {
		return err
	}
	if caller.Scope == core.ScopeChannel { // which knows the platform by its own name
		reading = reading.WithPlatform(record.Platform)
	}
	return respond(c, http.StatusOK, reading)
}

// listOrders reads orders, the newest first, a page at a time.
func (s *Server) listOrders(c *fiber.Ctx, caller core.Caller) error {
	var v core.Violations
	filter := order.Filter{
		Platform: strings.Clone(c.Query("platform")), StoreRefID: strings.Clone(c.Query("store_ref_id")),
		From: timeParam(c, "from", &v), To: timeParam(c, "to", &v), Limit: intParam(c, "limit", 50, 1, 200, &v),
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

// timeParam is a time of the query string, in epoch milliseconds.
func timeParam(c *fiber.Ctx, name string, v *core.Violations) time.Time {
	text := c.Query(name)
	if text == "" {
		return time.Time{}
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 1e12 || ms >= 1e13 { // what is less was sent in seconds
		v.AddBody(name, "range", "must be a time in epoch milliseconds, not "+core.Quote(text))
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// withOrder says of a refusal which order it is about; 0 is none that is known.
func withOrder(id int64, err error) error {
	var known *core.Error
	if id == 0 || !errors.As(err, &known) || known.Code != core.Invalid && known.Code != core.Conflict {
		return err
	}
	about := *known
	about.Message = fmt.Sprintf("order %d: %s", id, known.Message)
	return &about
}

// bodyOrderID is the order that a body which is refused names, 0 where it is not known.
func bodyOrderID(body []byte) int64 {
	var sent struct {
		OrderID core.PositiveInt `json:"order_id"`
	}
	_ = json.Unmarshal(body, &sent) // what is wrong with it was said
	return int64(sent.OrderID)
}

// orderID reads the path; what is no number is the id of no order.
func orderID(c *fiber.Ctx) int64 {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil || id < 1 {
		return 0
	}
	return id
}
