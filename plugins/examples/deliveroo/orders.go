package main

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// event is what Deliveroo sends: an order, its status, the outcome of a menu, or a rider.
type event struct {
	Event string `json:"event"`
	Body  struct {
		Order order      `json:"order"`
		Menu  menuResult `json:"menu_upload_result"`
		riderEvent
	} `json:"body"`
}

type order struct {
	ID           string     `json:"id"`
	DisplayID    string     `json:"display_id"`
	LocationID   string     `json:"location_id"`
	Status       string     `json:"status"`
	Fulfillment  string     `json:"fulfillment_type"`
	Notes        string     `json:"order_notes"`
	CutleryNotes string     `json:"cutlery_notes"`
	TableNumber  string     `json:"table_number"`
	ASAP         bool       `json:"asap"`
	PrepareFor   *time.Time `json:"prepare_for"`
	Total        money      `json:"partner_order_total"`
	Discount     money      `json:"offer_discount"`
	CashDue      money      `json:"cash_due"`
	BagFee       money      `json:"bag_fee"`
	Surcharge    money      `json:"surcharge"`
	Items        []line     `json:"items"`
	Customer     customer   `json:"customer"`
	Delivery     delivery   `json:"delivery"`
}

type money struct {
	Fractional int64  `json:"fractional"` // in the smallest unit of the currency
	Currency   string `json:"currency_code"`
}

type line struct {
	PosItemID string `json:"pos_item_id"`
	Name      string `json:"name"`
	UnitPrice money  `json:"unit_price"`
	MenuPrice *money `json:"menu_unit_price"`
	Quantity  int64  `json:"quantity"`
	Modifiers []line `json:"modifiers"`
}

// price is the price of one item, before a discount.
func (l line) price() int64 {
	if l.MenuPrice != nil {
		return l.MenuPrice.Fractional
	}
	return l.UnitPrice.Fractional
}

type customer struct {
	FirstName     string `json:"first_name"`
	ContactNumber string `json:"contact_number"`
	AccessCode    string `json:"contact_access_code"`
}

type delivery struct {
	Fee     money `json:"delivery_fee"`
	Address struct {
		Line1      string      `json:"address_line_1"`
		Line2      string      `json:"address_line_2"`
		City       string      `json:"city"`
		PostalCode string      `json:"postal_code"`
		Latitude   json.Number `json:"latitude"`
		Longitude  json.Number `json:"longitude"`
	} `json:"address"`
}

// Translate translates an event.
func (plugin) Translate(_ context.Context, call *sdk.Call, request *sdk.InboundRequest) (*sdk.Translation, error) {
	var sent event
	if err := json.Unmarshal(request.GetBody(), &sent); err != nil {
		return nil, sdk.Refusef("the event is not valid JSON of its type")
	}
	o := sent.Body.Order
	switch {
	case sent.Event == "menu.upload_result":
		return reportMenu(sent.Body.Menu)
	case sent.Event == "rider.status_update":
		return translateRider(sent.Body.riderEvent)
	case sent.Event != "order.new" && sent.Event != "order.status_update":
		return sdk.Ignored("an event that the plugin does not use")
	case o.ID == "":
		return nil, sdk.Refusef("body.order.id is required")
	case sent.Event == "order.new":
		return translateOrder(call, o)
	case o.Status == "canceled":
		return sdk.Cancelled(o.ID, "Deliveroo cancelled the order")
	}
	return sdk.Ignored("the status does not change the order")
}

// modes has the types of orders and of deliveries by fulfilment.
var modes = map[string][2]string{"deliveroo": {"delivery", "partner"}, "restaurant": {"delivery", "self"},
	"customer": {"pickup", ""}, "table_service": {"dine_in", ""}, "autonomous": {"delivery", "partner"}}

func translateOrder(call *sdk.Call, o order) (*sdk.Translation, error) {
	s, err := settingsOf(call)
	if err != nil {
		return nil, err
	}
	mode, known := modes[o.Fulfillment]
	if !known {
		return nil, sdk.Refusef("body.order.fulfillment_type is unknown")
	}
	digits, _ := sdk.MinorDigits(cmp.Or(o.Total.Currency, call.GetCurrency()))
	text := func(m money) string { return sdk.FromMinorUnits(m.Fractional, digits) }
	placed := &sdk.NewOrder{PlatformOrderId: o.ID, DisplayId: o.DisplayID, OrderType: mode[0], DeliveryType: mode[1],
		Customer: customerOf(o)}
	if o.CutleryNotes == "NO CUTLERY" {
		placed.Cutlery, o.CutleryNotes = new(false), ""
	}
	placed.Instructions = instructions(o)
	if s.Location == "store" {
		placed.StoreRefId = o.LocationID
	} else {
		placed.PlatformStoreId = o.LocationID
	}
	if o.PrepareFor != nil {
		placed.PrepareFor = o.PrepareFor.UnixMilli()
	}
	if !o.ASAP { // the only time of a scheduled order
		placed.DeliveryDatetime = placed.PrepareFor
	}
	if o.Total.Fractional > 0 {
		placed.OrderTotal = text(o.Total)
	}
	for _, fee := range []struct {
		title string
		money
	}{{"Bag fee", o.BagFee}, {"Surcharge", o.Surcharge}} {
		if fee.Fractional > 0 {
			placed.Charges = append(placed.Charges, &pb.OrderAmount{Title: fee.title, Value: text(fee.money)})
		}
	}
	if o.Discount.Fractional > 0 {
		placed.Discounts = []*pb.OrderAmount{{Title: "Offer", Value: text(o.Discount)}}
	}
	placed.Payment = []*pb.Payment{{Option: "aggregator", Amount: text(o.Total)}}
	if o.CashDue.Fractional > 0 {
		placed.Payment = []*pb.Payment{{Option: "cash", Amount: text(o.CashDue)}}
	}
	for _, l := range o.Items {
		placed.Items = append(placed.Items, itemOf(l, digits))
	}
	return sdk.Placed(placed)
}

// itemOf converts a line. Modifiers at any depth become options.
func itemOf(l line, digits int) *pb.OrderItem {
	placed := &pb.OrderItem{RefId: l.PosItemID, Title: l.Name, Quantity: l.Quantity,
		Price: sdk.FromMinorUnits(l.price(), digits)}
	addOptions(placed, l, 1, nil, digits)
	return placed
}

// addOptions adds the modifiers of a line or of an option, with those below them. Their quantities are per item.
func addOptions(item *pb.OrderItem, l line, times int64, parent *int32, digits int) {
	for _, modifier := range l.Modifiers {
		index, quantity := int32(len(item.Options)), times*max(modifier.Quantity, 1)
		item.Options = append(item.Options, &pb.OrderOption{RefId: modifier.PosItemID, Title: modifier.Name,
			Quantity: quantity, Price: sdk.FromMinorUnits(modifier.price(), digits), Parent: parent})
		addOptions(item, modifier, quantity, &index, digits)
	}
}

// instructions has what the hub's order has no field for.
func instructions(o order) string {
	parts := []string{}
	for _, part := range [][2]string{{"", o.Notes}, {"", o.CutleryNotes}, {"Table ", o.TableNumber},
		{"Access code ", o.Customer.AccessCode}} {
		if part[1] != "" {
			parts = append(parts, part[0]+part[1])
		}
	}
	return strings.Join(parts, ". ")
}

func customerOf(o order) *pb.Customer {
	a := o.Delivery.Address
	return &pb.Customer{Name: o.Customer.FirstName, Phone: o.Customer.ContactNumber,
		Address: &pb.Address{Line_1: a.Line1, Line_2: a.Line2, City: a.City, Pin: a.PostalCode,
			Latitude: string(a.Latitude), Longitude: string(a.Longitude)}}
}

type orderUpdate struct {
	Status       string `json:"status"`
	RejectReason string `json:"reject_reason,omitempty"`
	Notes        string `json:"notes,omitempty"`
}

type syncStatus struct {
	Status     string `json:"status"`
	Reason     string `json:"reason,omitempty"`
	Notes      string `json:"notes,omitempty"`
	OccurredAt string `json:"occurred_at"`
}

// rejectReasons are Deliveroo's reasons of a rejection.
var rejectReasons = []string{"closing_early", "busy", "ingredient_unavailable", "other"}

// reasonOf maps the code of a merchant's system to a reason of Deliveroo.
func reasonOf(code string) string {
	code = strings.ToLower(code)
	switch {
	case slices.Contains(rejectReasons, code):
		return code
	case strings.Contains(code, "stock") || strings.Contains(code, "item"):
		return "ingredient_unavailable"
	case strings.Contains(code, "clos"):
		return "closing_early"
	}
	return "other"
}

// PlanAcknowledge plans the acceptance or rejection of an order, or the report to sites with a tablet.
func (plugin) PlanAcknowledge(_ context.Context, request *pb.AcknowledgeRequest) (*sdk.Decision, error) {
	s, err := settingsOf(request.GetCall())
	if err != nil {
		return nil, err
	}
	path := orderPath(request.GetOrder())
	switch {
	case s.Tablet && request.GetAccepted():
		return send(http.MethodPost, path+"/sync_status",
			syncStatus{Status: "succeeded", OccurredAt: timeOf(request.GetChangedAt())})
	case s.Tablet:
		return send(http.MethodPost, path+"/sync_status", syncStatus{Status: "failed", Reason: "other",
			Notes: request.GetReason(), OccurredAt: timeOf(request.GetChangedAt())})
	case request.GetAccepted():
		return send(http.MethodPatch, path, orderUpdate{Status: "accepted"})
	}
	return send(http.MethodPatch, path, orderUpdate{Status: "rejected", RejectReason: reasonOf(request.GetReasonCode()),
		Notes: request.GetReason()})
}

type prepStage struct {
	Stage      string `json:"stage"`
	OccurredAt string `json:"occurred_at,omitempty"`
	Delay      int    `json:"delay,omitempty"`
}

// stages are Deliveroo's stages of the hub's states.
var stages = map[string]string{"Food Ready": "ready_for_collection", "Dispatched": "collected"}

// PlanOrderStatus plans the report of a stage.
func (plugin) PlanOrderStatus(_ context.Context, request *pb.OrderStatusRequest) (*sdk.Decision, error) {
	stage := stages[request.GetStatus()]
	switch {
	case request.GetStatus() == "Cancelled":
		return sdk.Skip("Deliveroo cancels orders only by its customer service")
	case stage == "":
		return sdk.Skip("Deliveroo has no stage for this status")
	}
	return send(http.MethodPost, orderPath(request.GetOrder())+"/prep_stage",
		prepStage{Stage: stage, OccurredAt: timeOf(request.GetChangedAt())})
}

// PlanPreparing plans the stage of an order whose kitchen has started.
func (plugin) PlanPreparing(_ context.Context, request *pb.OrderStatusRequest) (*sdk.Decision, error) {
	return send(http.MethodPost, orderPath(request.GetOrder())+"/prep_stage",
		prepStage{Stage: "in_kitchen", OccurredAt: timeOf(request.GetChangedAt())})
}

// PlanAction plans an action.
func (plugin) PlanAction(_ context.Context, request *pb.ActionRequest) (*sdk.Decision, error) {
	var parameters struct {
		Delay int `json:"delay_minutes"`
	}
	if err := sdk.ReadParameters(request, &parameters); err != nil {
		return nil, err
	}
	switch request.GetAction() {
	case confirmOrder:
		return send(http.MethodPatch, orderPath(request.GetOrder()), orderUpdate{Status: "confirmed"})
	case inKitchen:
		return send(http.MethodPost, orderPath(request.GetOrder())+"/prep_stage",
			prepStage{Stage: "in_kitchen", Delay: parameters.Delay})
	}
	return nil, sdk.Refusef("the action is not offered")
}
