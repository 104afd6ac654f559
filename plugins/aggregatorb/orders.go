package main

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// inboundOrder is an order from B (README.md). Amounts are decimal strings, and times are epoch seconds.
type inboundOrder struct {
	OrderID       string     `json:"orderId"`
	RestaurantID  string     `json:"restaurantId"`
	RestaurantRef string     `json:"restaurantRef"`
	Mode          string     `json:"mode"` // DELIVERY, SELF_DELIVERY or TAKEAWAY
	LargeOrder    bool       `json:"largeOrder"`
	Cart          []cartLine `json:"cart"`
	Bill          bill       `json:"bill"`
	Customer      customer   `json:"customer"`
	Note          string     `json:"note"`
	Voucher       string     `json:"voucher"`
	DueAt         int64      `json:"dueAt"`
	Paid          []payment  `json:"paid"`
}

type cartLine struct {
	DishID    string      `json:"dishId"`
	Title     string      `json:"title"`
	Count     int64       `json:"count"`
	UnitPrice json.Number `json:"unitPrice"`
	Note      string      `json:"note"`
	AddOns    []struct {
		AddOnID   string      `json:"addOnId"`
		Title     string      `json:"title"`
		Count     int64       `json:"count"`
		UnitPrice json.Number `json:"unitPrice"`
	} `json:"addOns"`
}

type bill struct {
	Fees      []billLine  `json:"fees"`
	Taxes     []billLine  `json:"taxes"`
	Discounts []billLine  `json:"discounts"`
	Total     json.Number `json:"total"`
}

type billLine struct {
	Title   string      `json:"title"`
	Percent json.Number `json:"percent"`
	Amount  json.Number `json:"amount"`
}

type customer struct {
	FullName string `json:"fullName"`
	Phone    string `json:"phone"`
	Email    string `json:"email"`
	Street   string `json:"street"`
	Extra    string `json:"extra"`
	City     string `json:"city"`
	Zip      string `json:"zip"`
	Location *struct {
		Lat json.Number `json:"lat"`
		Lng json.Number `json:"lng"`
	} `json:"location"`
}

type payment struct {
	By     string      `json:"by"`
	Amount json.Number `json:"amount"`
	TrxID  string      `json:"trxId"`
}

// modes maps B's modes to the order type and the delivery type.
var modes = map[string][2]string{
	"DELIVERY": {"delivery", "partner"}, "SELF_DELIVERY": {"delivery", "self"}, "TAKEAWAY": {"pickup", "self"},
}

// Translate translates a new order or a cancellation.
func (plugin) Translate(_ context.Context, _ *sdk.Call, request *sdk.InboundRequest) (*sdk.Translation, error) {
	if request.GetKind() == cancellation {
		return readCancellation(request.GetBody())
	}
	var sent inboundOrder
	if err := sdk.ReadJSON("order", request.GetBody(), &sent); err != nil {
		return nil, err
	}
	mode, known := modes[sent.Mode]
	switch {
	case sent.OrderID == "":
		return nil, sdk.Refusef("order: orderId is required")
	case sent.RestaurantRef == "" && sent.RestaurantID == "":
		return nil, sdk.Refusef("order: restaurantRef or restaurantId is required")
	case !known:
		return nil, sdk.Refusef("order: mode %q must be DELIVERY, SELF_DELIVERY or TAKEAWAY", sent.Mode)
	case len(sent.Cart) == 0:
		return nil, sdk.Refusef("order: cart must not be empty")
	}
	order := &sdk.NewOrder{
		PlatformOrderId: sent.OrderID, StoreRefId: sent.RestaurantRef, PlatformStoreId: sent.RestaurantID,
		OrderType: mode[0], DeliveryType: mode[1], IsBulkOrder: sent.LargeOrder,
		Customer: normalCustomer(sent.Customer),
		Charges:  billLines(sent.Bill.Fees), Taxes: billLines(sent.Bill.Taxes),
		Discounts: billLines(sent.Bill.Discounts),
		Coupon:    sent.Voucher, Instructions: sent.Note, DeliveryDatetime: sent.DueAt * 1000,
		OrderTotal: string(sent.Bill.Total),
	}
	for _, l := range sent.Cart {
		order.Items = append(order.Items, normalLine(l))
	}
	for _, p := range sent.Paid {
		order.Payment = append(order.Payment, &pb.Payment{Option: p.By, Amount: string(p.Amount), SrvrTrxId: p.TrxID})
	}
	return sdk.Placed(order)
}

func readCancellation(body []byte) (*sdk.Translation, error) {
	var sent struct {
		OrderID string `json:"orderId"`
		Reason  string `json:"reason"`
	}
	if err := sdk.ReadJSON(cancellation, body, &sent); err != nil {
		return nil, err
	}
	if sent.OrderID == "" {
		return nil, sdk.Refusef("cancellation: orderId is required")
	}
	return sdk.Cancelled(sent.OrderID, sent.Reason)
}

func normalLine(l cartLine) *pb.OrderItem {
	item := &pb.OrderItem{RefId: l.DishID, Quantity: l.Count, Price: string(l.UnitPrice), Title: l.Title,
		Instructions: l.Note}
	for _, a := range l.AddOns {
		item.Options = append(item.Options,
			&pb.OrderOption{RefId: a.AddOnID, Quantity: max(a.Count, 1), Price: string(a.UnitPrice), Title: a.Title})
	}
	return item
}

func normalCustomer(b customer) *pb.Customer {
	c := &pb.Customer{Name: b.FullName, Phone: b.Phone, Email: b.Email,
		Address: &pb.Address{Line_1: b.Street, Line_2: b.Extra, City: b.City, Pin: b.Zip}}
	if b.Location != nil {
		c.Address.Latitude, c.Address.Longitude = string(b.Location.Lat), string(b.Location.Lng)
	}
	return c
}

func billLines(list []billLine) (normal []*pb.OrderAmount) {
	for _, l := range list {
		normal = append(normal, &pb.OrderAmount{Title: l.Title, Value: string(l.Amount), Rate: string(l.Percent)})
	}
	return normal
}

type decision struct {
	Decision   string `json:"decision"`
	Reason     string `json:"reason,omitempty"`
	ReasonCode string `json:"reasonCode,omitempty"`
	ReadyIn    int64  `json:"readyInSeconds,omitempty"`
}

// PlanAcknowledge plans the acknowledgement of an order.
func (plugin) PlanAcknowledge(_ context.Context, request *pb.AcknowledgeRequest) (*sdk.Decision, error) {
	body := decision{Decision: "CONFIRMED", ReadyIn: request.GetPrepTime()}
	if !request.GetAccepted() {
		body = decision{Decision: "DECLINED", Reason: cmp.Or(request.GetReason(), "not given"),
			ReasonCode: request.GetReasonCode()}
	}
	return send(request.GetCall(), catalogue, http.MethodPost, orderPath(request.GetOrder())+"/decision", body)
}

type progress struct {
	Progress   string `json:"progress"`
	ReasonCode string `json:"reasonCode,omitempty"`
	At         string `json:"at"`
}

var progressNames = map[string]string{"Food Ready": "READY", "Dispatched": "ON_THE_WAY", "Completed": "CLOSED",
	"Cancelled": "CANCELLED"}

// PlanOrderStatus plans the update of an order's state. A new preparation time is sent as another confirmation.
func (plugin) PlanOrderStatus(_ context.Context, request *pb.OrderStatusRequest) (*sdk.Decision, error) {
	if minutes := request.GetPrepMinutes(); request.GetStatus() == "Acknowledged" && minutes > 0 {
		return send(request.GetCall(), catalogue, http.MethodPost, orderPath(request.GetOrder())+"/decision",
			decision{Decision: "CONFIRMED", ReadyIn: minutes * 60})
	}
	name, known := progressNames[request.GetStatus()]
	if !known {
		return sdk.Skip("aggregator B does not get the state " + request.GetStatus())
	}
	return send(request.GetCall(), catalogue, http.MethodPost, orderPath(request.GetOrder())+"/progress",
		progress{name, request.GetReasonCode(), instant(request.GetChangedAt())})
}

type outOfStock struct {
	Dishes     []string `json:"dishIds"`
	AddOns     []string `json:"addOnIds"`
	Substitute bool     `json:"substitute"` // the customer may choose something else
	At         string   `json:"at"`
}

// PlanItemsOOS plans the report of items out of stock.
func (plugin) PlanItemsOOS(_ context.Context, request *pb.ItemsOOSRequest) (*sdk.Decision, error) {
	return send(request.GetCall(), catalogue, http.MethodPost, orderPath(request.GetOrder())+"/missing", outOfStock{
		append([]string{}, request.GetItemRefIds()...), append([]string{}, request.GetOptionRefIds()...),
		request.GetAllowEdit(), instant(request.GetReportedAt())})
}
