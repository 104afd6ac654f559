package main

import (
	"context"
	"time"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// message is a message from C (README.md): an envelope with the data of an order.
type message struct {
	Type string    `json:"type"`
	Data orderData `json:"data"`
}

type orderData struct {
	No        string     `json:"no"`
	ShopCode  string     `json:"shop_code"`
	ShopRef   string     `json:"shop_ref"`
	Pickup    bool       `json:"pickup"`
	OwnRider  bool       `json:"own_rider"` // the merchant delivers
	Group     bool       `json:"group_order"`
	Lines     []lineData `json:"lines"`
	Fees      []feeData  `json:"fees"`
	Taxes     []feeData  `json:"taxes"`
	Coupons   []feeData  `json:"coupons"`
	Total     *int64     `json:"total_minor"`
	Paid      *int64     `json:"paid_minor"`
	PaidBy    string     `json:"paid_by"`
	Remark    string     `json:"remark"`
	Expected  int64      `json:"expected_ms"`
	Why       string     `json:"why"` // of a cancellation
	Recipient struct {
		Name    string `json:"name"`
		Tel     string `json:"tel"`
		Address string `json:"address"`
		Door    string `json:"door"`
		City    string `json:"city"`
		Zip     string `json:"zip"`
	} `json:"recipient"`
}

type lineData struct {
	Dish       string     `json:"dish"`
	Name       string     `json:"name"`
	N          int64      `json:"n"`
	PriceMinor *int64     `json:"price_minor"`
	Remark     string     `json:"remark"`
	Extras     []lineData `json:"extras"`
}

type feeData struct {
	Name  string `json:"name"`
	Code  string `json:"code"`
	Minor *int64 `json:"minor"`
}

// Translate translates a new order or a cancellation. It ignores other messages.
func (plugin) Translate(_ context.Context, call *sdk.Call, request *sdk.InboundRequest) (*sdk.Translation, error) {
	digits, err := minorDigits(call)
	if err != nil {
		return nil, err
	}
	var sent message
	if err := sdk.ReadJSON("message", request.GetBody(), &sent); err != nil {
		return nil, err
	}
	d := &sent.Data
	switch {
	case sent.Type != "ORDER_NEW" && sent.Type != "ORDER_CANCEL":
		return sdk.Ignored("a message of type " + sent.Type + " brings no order")
	case d.No == "":
		return nil, sdk.Refusef("message: data.no is required")
	case sent.Type == "ORDER_CANCEL":
		return sdk.Cancelled(d.No, d.Why)
	case d.ShopRef == "" && d.ShopCode == "":
		return nil, sdk.Refusef("message: data.shop_ref or data.shop_code is required")
	case len(d.Lines) == 0:
		return nil, sdk.Refusef("message: data.lines must not be empty")
	}
	return sdk.Placed(normalOrder(d, digits))
}

func normalOrder(d *orderData, digits int) *sdk.NewOrder {
	amount := func(minor *int64) string {
		if minor == nil {
			return ""
		}
		return sdk.FromMinorUnits(*minor, digits)
	}
	order := &sdk.NewOrder{
		PlatformOrderId: d.No, StoreRefId: d.ShopRef, PlatformStoreId: d.ShopCode, OrderType: "delivery",
		DeliveryType: "partner",
		IsBulkOrder:  d.Group, Instructions: d.Remark, DeliveryDatetime: d.Expected, PayableAmount: amount(d.Total),
		Customer: &pb.Customer{Name: d.Recipient.Name, Phone: d.Recipient.Tel, Address: &pb.Address{
			Line_1: d.Recipient.Address, Line_2: d.Recipient.Door, City: d.Recipient.City, Pin: d.Recipient.Zip}},
	}
	if d.Pickup {
		order.OrderType = "pickup"
	}
	if d.OwnRider {
		order.DeliveryType = "self"
	}
	for _, l := range d.Lines {
		item := &pb.OrderItem{RefId: l.Dish, Quantity: l.N, Price: amount(l.PriceMinor), Title: l.Name,
			Instructions: l.Remark}
		for _, e := range l.Extras {
			item.Options = append(item.Options,
				&pb.OrderOption{RefId: e.Dish, Quantity: max(e.N, 1), Price: amount(e.PriceMinor), Title: e.Name})
		}
		order.Items = append(order.Items, item)
	}
	amounts := func(list []feeData) (normal []*pb.OrderAmount) {
		for _, f := range list {
			normal = append(normal, &pb.OrderAmount{Title: f.Name, Value: amount(f.Minor), Code: f.Code})
		}
		return normal
	}
	order.Charges, order.Taxes, order.Discounts = amounts(d.Fees), amounts(d.Taxes), amounts(d.Coupons)
	if d.PaidBy != "" {
		order.Payment = []*pb.Payment{{Option: d.PaidBy, Amount: amount(d.Paid)}}
	}
	return order
}

type reply struct {
	No      string `json:"no"`
	Accept  bool   `json:"accept"`
	Minutes int64  `json:"ready_min,omitempty"`
	Why     string `json:"why,omitempty"`
	WhyCode string `json:"why_code,omitempty"`
}

// PlanAcknowledge plans the acknowledgement of an order.
func (plugin) PlanAcknowledge(_ context.Context, request *pb.AcknowledgeRequest) (*sdk.Decision, error) {
	return send(request.GetCall(), "/gw/order.reply", reply{
		request.GetOrder().GetPlatformOrderId(), request.GetAccepted(), (request.GetPrepTime() + 59) / 60,
		request.GetReason(), request.GetReasonCode()})
}

type stage struct {
	No      string `json:"no"`
	Stage   int    `json:"stage"`
	WhyCode string `json:"why_code,omitempty"`
	At      string `json:"at"`
}

// stages maps the states that C accepts to its numbers.
var stages = map[string]int{"Food Ready": 30, "Dispatched": 40, "Completed": 50, "Cancelled": 90}

// PlanOrderStatus plans the update of an order's state. A new preparation time is sent as another acceptance.
func (plugin) PlanOrderStatus(_ context.Context, request *pb.OrderStatusRequest) (*sdk.Decision, error) {
	if minutes := request.GetPrepMinutes(); request.GetStatus() == "Acknowledged" && minutes > 0 {
		return send(request.GetCall(), "/gw/order.reply",
			reply{No: request.GetOrder().GetPlatformOrderId(), Accept: true, Minutes: minutes})
	}
	number, known := stages[request.GetStatus()]
	if !known {
		return sdk.Skip("aggregator C does not get the state " + request.GetStatus())
	}
	return send(request.GetCall(), "/gw/order.stage",
		stage{request.GetOrder().GetPlatformOrderId(), number, request.GetReasonCode(),
			time.UnixMilli(request.GetChangedAt()).UTC().Format(time.RFC3339)})
}

type soldOut struct {
	No     string   `json:"no"`
	Dishes []string `json:"dishes"`
	Extras []string `json:"extras"`
	Swap   bool     `json:"swap"` // the customer may choose something else
	At     string   `json:"at"`
}

// PlanItemsOOS plans the report of items out of stock.
func (plugin) PlanItemsOOS(_ context.Context, request *pb.ItemsOOSRequest) (*sdk.Decision, error) {
	return send(request.GetCall(), "/gw/order.soldout",
		soldOut{request.GetOrder().GetPlatformOrderId(), append([]string{}, request.GetItemRefIds()...),
			append([]string{}, request.GetOptionRefIds()...), request.GetAllowEdit(),
			time.UnixMilli(request.GetReportedAt()).UTC().Format(time.RFC3339)})
}
