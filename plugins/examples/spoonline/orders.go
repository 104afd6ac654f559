package main

import (
	"context"
	"encoding/xml"
	"net/http"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// message is what Spoonline sends: an order, a cancellation or the outcome of an action.
type message struct {
	XMLName xml.Name
	ID      string `xml:"id,attr"`
	Store   string `xml:"store,attr"`
	Lines   []line `xml:"line"`
	Total   string `xml:"total"`
	Note    string `xml:"note"`
	Name    string `xml:"customer>name"`
	Phone   string `xml:"customer>phone"`
	Reason  string `xml:"reason"`

	Order  string `xml:"order,attr"` // of an outcome
	Action string `xml:"action,attr"`
	Ref    string `xml:"ref,attr"`
	Code   *int   `xml:"code,attr"`
}

type line struct {
	SKU   string `xml:"sku,attr"`
	Count int64  `xml:"count,attr"`
	Price string `xml:"price,attr"`
}

// Translate translates a message.
func (plugin) Translate(_ context.Context, _ *sdk.Call, request *sdk.InboundRequest) (*sdk.Translation, error) {
	var sent message
	if err := sdk.ReadXML(request, &sent); err != nil {
		return nil, err
	}
	switch sent.XMLName.Local {
	case "order":
		return translateOrder(sent)
	case "cancel":
		if sent.ID == "" {
			return nil, sdk.Refusef("cancel: id is required")
		}
		return sdk.Cancelled(sent.ID, sent.Reason)
	case "outcome":
		return sdk.Callback()
	}
	return sdk.Ignored("a message that the plugin does not know")
}

func translateOrder(sent message) (*sdk.Translation, error) {
	order := &sdk.NewOrder{PlatformOrderId: sent.ID, PlatformStoreId: sent.Store, OrderType: "delivery",
		DeliveryType: "self", OrderTotal: sent.Total, Instructions: sent.Note,
		Customer: &pb.Customer{Name: sent.Name, Phone: sent.Phone}}
	for _, line := range sent.Lines {
		order.Items = append(order.Items, &pb.OrderItem{RefId: line.SKU, Quantity: line.Count, Price: line.Price})
	}
	return sdk.Placed(order)
}

type decision struct {
	XMLName  xml.Name `xml:"decision"`
	Accepted int      `xml:"accepted,attr"`
	Reason   string   `xml:"reason,omitempty"`
}

// PlanAcknowledge plans the acceptance or rejection of an order.
func (plugin) PlanAcknowledge(_ context.Context, request *pb.AcknowledgeRequest) (*sdk.Decision, error) {
	body := decision{Reason: request.GetReason()}
	if request.GetAccepted() {
		body = decision{Accepted: 1}
	}
	return sendXML(http.MethodPut, orderPath(request.GetOrder())+"/decision", body)
}

// riderCodes are Spoonline's numbers of the statuses of a rider.
var riderCodes = map[string]int{"ASSIGNED": 10, "UNASSIGNED": 11, "NO-RIDER-FOUND": 19, "AT-STORE": 20,
	"OUT-FOR-DELIVERY": 30, "RIDER-REACHED": 40, "DELIVERED": 50}

type rider struct {
	XMLName xml.Name `xml:"rider"`
	Code    int      `xml:"code,attr"`
	At      int64    `xml:"at,attr"` // seconds since 1970
	Name    string   `xml:"name,omitempty"`
	Phone   string   `xml:"phone,omitempty"`
}

// PlanRiderStatus plans the update of a rider's status.
func (plugin) PlanRiderStatus(_ context.Context, request *pb.RiderStatusRequest) (*sdk.Decision, error) {
	if request.GetOrder().GetDeliveryType() != "self" {
		return sdk.Skip("only riders of self-delivery orders are relayed")
	}
	code, known := riderCodes[request.GetStatus()]
	if !known {
		return nil, sdk.Refusef("the status of the rider is unknown")
	}
	return sendXML(http.MethodPost, orderPath(request.GetOrder())+"/rider", rider{Code: code,
		At: request.GetChangedAt() / 1000, Name: request.GetRiderName(), Phone: request.GetRiderPhoneNumber()})
}
