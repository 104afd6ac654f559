package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/presence"
)

// orderAnswer is the answer to whoever brings or moves an order.
type orderAnswer struct {
	Status  string `json:"status"`
	Message string `json:"message"`
	OrderID int64  `json:"order_id"`
}

// postOrder takes an order in; it is stored, and its event on the way, when the
// answer goes out.
func (s *Server) postOrder(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.jsonBody(c)
	if err != nil {
		return err
	}
	if len(body) > order.MaxBody {
		return core.Errorf(core.TooLarge, "an order may have at most %d bytes", order.MaxBody)
	}
	draft, err := order.Decode(body)
	if err != nil {
		return err
	}
	if caller.Platform != "" && caller.Platform != draft.Platform {
		return core.Errorf(core.Forbidden, "this API key brings orders of the platform %q alone", caller.Platform)
	}
	receipt, err := s.Intake.Place(c.UserContext(), order.Arrival{Business: caller.Business, Actor: caller.Actor(), Draft: draft})
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, orderAnswer{"success", taken(receipt), receipt.OrderID})
}

// taken says what became of an order that was brought. A channel that sends an order
// anew because its customer changed it is told that this is not how it is done.
func taken(r order.Receipt) string {
	if r.Known {
		return "the order was known already; nothing was done, it stays as it was first placed"
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
	change, err := order.DecodeChange(body)
	if err != nil {
		return err
	}
	if !slices.Contains(may, change.To) {
		return core.Errorf(core.Forbidden, "a channel may only complete or cancel an order")
	}
	id := orderID(c)
	change.Actor, change.Platform = caller.Actor(), caller.Platform
	from, err := s.Orders.Change(c.UserContext(), caller.Business, id, change)
	if err != nil {
		return err
	}
	s.heard(caller, presence.Sign{OrderID: id})
	return answer(c, http.StatusOK, orderAnswer{"success", moved(from, change), id})
}

// moved says what became of a wish to move an order.
func moved(from order.State, change order.Change) string {
	switch {
	case from != change.To:
		return "the order was " + string(from) + " and is " + string(change.To)
	case from == order.Acknowledged && change.PrepMinutes != nil:
		return "the order is Acknowledged already; it is prepared in " + counted(int(*change.PrepMinutes), "minute")
	}
	return "the order is " + string(from) + " already; nothing was done"
}

// getOrder reads an order in its present state.
func (s *Server) getOrder(c *fiber.Ctx, caller core.Caller) error {
	record, err := s.Orders.Get(c.UserContext(), caller.Business, caller.Platform, orderID(c))
	if err != nil {
		return err
	}
	reading, err := record.Read()
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, reading)
}

// listOrders reads orders, the newest first, a page at a time.
func (s *Server) listOrders(c *fiber.Ctx, caller core.Caller) error {
	var v core.Violations
	filter := order.Filter{
		Platform: strings.Clone(c.Query("platform")), StoreRefID: strings.Clone(c.Query("store_ref_id")),
		From: moment(c, "from", &v), To: moment(c, "to", &v), Limit: number(c, "limit", 50, 1, 200, &v),
		Reference: strings.Clone(c.Query("order_ref_id")),
	}
	escalated, err := flag(c, "escalated")
	if err != nil {
		return err
	}
	filter.Escalated = escalated
	if name := c.Query("state"); name != "" {
		known := false
		if filter.State, known = order.ParseState(name); !known {
			v.AddBody("state", "value", "must be one of: "+order.StateNames())
		}
	}
	if after := c.Query("after"); after != "" {
		known := false
		if filter.After, known = order.ParseCursor(strings.Clone(after)); !known {
			v.AddBody("after", "value", "must be what an earlier answer called next")
		}
	}
	if err := v.Err(); err != nil {
		return err
	}
	list, next, err := s.Orders.List(c.UserContext(), caller.Business, filter)
	if err != nil {
		return err
	}
	meta := pageMeta{Limit: filter.Limit}
	if next.ID != 0 {
		meta.Next = next.String()
	}
	return answer(c, http.StatusOK, struct {
		Orders []order.Summary `json:"orders"`
		Meta   pageMeta        `json:"meta"`
	}{list, meta})
}

// moment is a time of the query string, in epoch milliseconds.
func moment(c *fiber.Ctx, name string, v *core.Violations) time.Time {
	n := number(c, name, 0, 1, 9_999_999_999_999, v)
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(n)).UTC()
}

// orderID reads the path; what is no number is the id of no order.
func orderID(c *fiber.Ctx) int64 {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil || id < 1 {
		return 0
	}
	return id
}
