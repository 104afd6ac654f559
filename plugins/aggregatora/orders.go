package main

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// orderEvent is an order event from A (README.md).
type orderEvent struct {
	Event    string `json:"event"`
	Reason   string `json:"reason"`    // of a cancellation
	ChangeID string `json:"change_id"` // of order.updated
	Order    struct {
		ID              flexibleString `json:"id"`
		OutletID        string         `json:"outlet_id"`
		OutletReference string         `json:"outlet_reference"`
		Fulfilment      string         `json:"fulfilment"`
		DeliveredBy     string         `json:"delivered_by"`
		Bulk            bool           `json:"bulk"`
		Customer        customer       `json:"customer"`
		Lines           []line         `json:"lines"`
		Fees            []amount       `json:"fees"`
		Taxes           []amount       `json:"taxes"`
		Promotions      []amount       `json:"promotions"`
		Payments        []payment      `json:"payments"`
		Note            string         `json:"note"`
		DeliverAt       *time.Time     `json:"deliver_at"`
		Totals          struct {
			Lines   json.Number `json:"lines"`
			Total   json.Number `json:"total"`
			Payable json.Number `json:"payable"`
		} `json:"totals"`
	} `json:"order"`
}

type customer struct {
	Name    string `json:"name"`
	Phone   string `json:"phone"`
	Email   string `json:"email"`
	Address struct {
		Line1    string         `json:"line1"`
		Line2    string         `json:"line2"`
		Landmark string         `json:"landmark"`
		City     string         `json:"city"`
		Area     string         `json:"area"`
		Postcode flexibleString `json:"postcode"`
		Lat      json.Number    `json:"lat"`
		Lng      json.Number    `json:"lng"`
	} `json:"address"`
}

type line struct {
	SKU       string      `json:"sku"`
	Name      string      `json:"name"`
	Qty       int64       `json:"qty"`
	UnitPrice json.Number `json:"unit_price"`
	Note      string      `json:"note"`
	Modifiers []line      `json:"modifiers"`
}

type amount struct {
	Label  string      `json:"label"`
	Code   string      `json:"code"`
	Rate   json.Number `json:"rate"`
	Amount json.Number `json:"amount"`
}

type payment struct {
	Method    string      `json:"method"`
	Amount    json.Number `json:"amount"`
	Reference string      `json:"reference"`
}

// Translate translates an order, a change of it, its release or a cancellation.
func (plugin) Translate(_ context.Context, _ *sdk.Call, request *sdk.InboundRequest) (*sdk.Translation, error) {
	var sent orderEvent
	if err := sdk.ReadJSON("orders", request.GetBody(), &sent); err != nil {
		return nil, err
	}
	o := &sent.Order
	switch {
	case !slices.Contains([]string{"order.created", "order.updated", "order.cancelled", "order.released"}, sent.Event):
		return sdk.Ignored("event " + sent.Event + " brings no order")
	case o.ID == "":
		return nil, sdk.Refusef("orders: order.id is required")
	case sent.Event == "order.cancelled":
		return sdk.Cancelled(string(o.ID), sent.Reason)
	case sent.Event == "order.released":
		return sdk.Released(string(o.ID))
	case o.OutletReference == "" && o.OutletID == "":
		return nil, sdk.Refusef("orders: order.outlet_reference or order.outlet_id is required")
	case len(o.Lines) == 0:
		return nil, sdk.Refusef("orders: order.lines must not be empty")
	case sent.Event == "order.updated" && sent.ChangeID == "":
		return nil, sdk.Refusef("orders: change_id is required")
	}
	order := &sdk.NewOrder{
		PlatformOrderId: string(o.ID), StoreRefId: o.OutletReference, PlatformStoreId: o.OutletID,
		OrderType: "delivery", DeliveryType: "partner", IsBulkOrder: o.Bulk, Instructions: o.Note,
		Customer: normalCustomer(o.Customer),
		Charges:  amounts(o.Fees), Taxes: amounts(o.Taxes), Discounts: amounts(o.Promotions),
		OrderSubtotal: string(o.Totals.Lines), OrderTotal: string(o.Totals.Total),
		PayableAmount: string(o.Totals.Payable),
	}
	if o.Fulfilment == "pickup" {
		order.OrderType = "pickup"
	}
	if o.DeliveredBy == "merchant" {
		order.DeliveryType = "self"
	}
	if o.DeliverAt != nil {
		order.DeliveryDatetime = o.DeliverAt.UnixMilli()
	}
	for _, l := range o.Lines {
		order.Items = append(order.Items, normalItem(l))
	}
	for _, p := range o.Payments {
		order.Payment = append(order.Payment,
			&pb.Payment{Option: p.Method, Amount: string(p.Amount), SrvrTrxId: p.Reference})
	}
	if sent.Event == "order.updated" {
		return sdk.Updated(&sdk.OrderUpdate{PlatformOrderId: string(o.ID), ChangeId: sent.ChangeID,
			Reason: sent.Reason, Order: order})
	}
	return sdk.Placed(order)
}

func normalCustomer(c customer) *pb.Customer {
	return &pb.Customer{Name: c.Name, Phone: c.Phone, Email: c.Email, Address: &pb.Address{
		Line_1: c.Address.Line1, Line_2: c.Address.Line2, Landmark: c.Address.Landmark, City: c.Address.City,
		SubLocality: c.Address.Area,
		Pin:         string(c.Address.Postcode), Latitude: string(c.Address.Lat), Longitude: string(c.Address.Lng),
	}}
}

func normalItem(l line) *pb.OrderItem {
	item := &pb.OrderItem{RefId: l.SKU, Quantity: l.Qty, Price: string(l.UnitPrice), Title: l.Name,
		Instructions: l.Note}
	for _, m := range l.Modifiers {
		item.Options = append(item.Options,
			&pb.OrderOption{RefId: m.SKU, Quantity: max(m.Qty, 1), Price: string(m.UnitPrice), Title: m.Name})
	}
	return item
}

func amounts(list []amount) (normal []*pb.OrderAmount) {
	for _, a := range list {
		normal = append(normal, &pb.OrderAmount{Title: cmp.Or(a.Label, a.Code), Value: string(a.Amount),
			Rate: string(a.Rate), Code: a.Code})
	}
	return normal
}

type acceptance struct {
	PrepMinutes int64 `json:"prep_minutes,omitempty"`
}

type rejection struct {
	Reason string `json:"reason"`
	Code   string `json:"code,omitempty"`
}

// PlanAcknowledge plans the acknowledgement of an order.
func (plugin) PlanAcknowledge(_ context.Context, request *pb.AcknowledgeRequest) (*sdk.Decision, error) {
	path := "/v2/orders/" + url.PathEscape(request.GetOrder().GetPlatformOrderId())
	if !request.GetAccepted() {
		return send(request.GetCall(), http.MethodPost, path+"/reject",
			rejection{request.GetReason(), request.GetReasonCode()})
	}
	return send(request.GetCall(), http.MethodPost, path+"/accept", acceptance{(request.GetPrepTime() + 59) / 60})
}

type orderStatus struct {
	Status string `json:"status"`
	Note   string `json:"note,omitempty"`
	Code   string `json:"code,omitempty"` // reason code of a cancellation
	At     string `json:"at"`
}

// statuses maps the states that A accepts to its own names.
var statuses = map[string]string{"Food Ready": "ready", "Dispatched": "dispatched", "Completed": "completed",
	"Cancelled": "cancelled"}

// PlanOrderStatus plans the update of an order's state. A new preparation time is sent as another acceptance.
func (plugin) PlanOrderStatus(_ context.Context, request *pb.OrderStatusRequest) (*sdk.Decision, error) {
	if minutes := request.GetPrepMinutes(); request.GetStatus() == "Acknowledged" && minutes > 0 {
		return send(request.GetCall(), http.MethodPost,
			"/v2/orders/"+url.PathEscape(request.GetOrder().GetPlatformOrderId())+"/accept", acceptance{minutes})
	}
	name, known := statuses[request.GetStatus()]
	if !known {
		return sdk.Skip("aggregator A does not get the state " + request.GetStatus())
	}
	body := orderStatus{name, request.GetMessage(), request.GetReasonCode(),
		time.UnixMilli(request.GetChangedAt()).UTC().Format(time.RFC3339)}
	return send(request.GetCall(), http.MethodPost,
		"/v2/orders/"+url.PathEscape(request.GetOrder().GetPlatformOrderId())+"/status", body)
}

type outOfStock struct {
	Products  []string `json:"products"`
	Modifiers []string `json:"modifiers"`
	MayEdit   bool     `json:"customer_may_edit"`
	At        string   `json:"at"`
}

// PlanItemsOOS plans the report of items out of stock.
func (plugin) PlanItemsOOS(_ context.Context, request *pb.ItemsOOSRequest) (*sdk.Decision, error) {
	body := outOfStock{nonNil(request.GetItemRefIds()), nonNil(request.GetOptionRefIds()), request.GetAllowEdit(),
		time.UnixMilli(request.GetReportedAt()).UTC().Format(time.RFC3339)}
	return send(request.GetCall(), http.MethodPost,
		"/v2/orders/"+url.PathEscape(request.GetOrder().GetPlatformOrderId())+"/out-of-stock", body)
}

// InterpretItemsOOS interprets the response to that report. It can contain a masked number of the customer.
func (plugin) InterpretItemsOOS(_ context.Context, _ *sdk.Call, response *sdk.Response) (*sdk.ItemsOOSOutcome, error) {
	var answer struct {
		Message     string         `json:"message"`
		MaskedPhone string         `json:"masked_phone"`
		Pin         flexibleString `json:"pin"`
	}
	_ = sdk.ReadJSON("the answer", response.GetBody(), &answer) // without a body, the status decides
	outcome := &sdk.ItemsOOSOutcome{State: pb.OutcomeState_OUTCOME_STATE_FAILED, Message: answer.Message}
	switch success, again := sdk.ClassifyStatus(response.GetStatus()); {
	case again:
		outcome.State = pb.OutcomeState_OUTCOME_STATE_RETRY
	case success:
		outcome.State, outcome.CustomerMaskedNumber, outcome.Pin = pb.OutcomeState_OUTCOME_STATE_DONE,
			answer.MaskedPhone, string(answer.Pin)
	}
	return outcome, nil
}
