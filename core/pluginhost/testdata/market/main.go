// Market is a plugin of a marketplace that sends forms and XML to one URL, signs them, and expects responses in its
// own format.
package main

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// customerData is the only action.
const customerData = "fetch_customer_data"

type market struct{}

func main() { sdk.Serve(market{}) }

// Describe returns the description.
func (market) Describe(context.Context) (*sdk.Description, error) {
	return &sdk.Description{
		Id: "market", Version: "1.0.0", DisplayName: "Market",
		Endpoints: []*pb.Endpoint{{Name: "api", Hosts: []string{"127.0.0.1"}}},
		Secrets:   []*pb.Secret{{Name: "signing_key"}, {Name: "feed_key"}},
		Actions:   []*pb.ActionOffer{{Name: customerData, Title: "Customer", ByCallback: true}},
		Inbound: []*pb.Inbound{
			{Kind: "events", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_MIXED,
				Scheme: pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA512, Header: "X-Market-Signature", Prefix: "v2:",
				Encoding: pb.InboundEncoding_INBOUND_ENCODING_BASE64, Secret: "signing_key",
				SignedText:      "{method}\n{path}\n{query.business}\n{timestamp}\n{nonce}\n{body}",
				TimestampHeader: "X-Market-Time", TimestampFormat: pb.InboundTimestamp_INBOUND_TIMESTAMP_RFC3339,
				NonceHeader: "X-Market-Nonce", OrderId: "/id",
				Shared: &pb.SharedInbound{StoreId: []string{"/store"}}},
			{Kind: "feed", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_ORDER,
				Scheme: pb.InboundScheme_INBOUND_SCHEME_EQUALS, Query: "key", Secret: "feed_key",
				OrderId: "/order/@id", OrderIdHeader: "X-Order",
				Shared: &pb.SharedInbound{StoreId: []string{"/order/store"}, StoreIdHeader: "X-Store"}},
			{Kind: "menu", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_MENU,
				Scheme: pb.InboundScheme_INBOUND_SCHEME_BEARER, Header: "Authorization", Secret: "feed_key",
				Shared: &pb.SharedInbound{}},
			{Kind: "signed-menu", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_MENU,
				Scheme: pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256, Header: "X-Market-Signature",
				Secret: "signing_key", SignedText: "{method} {path} {query.store}", StoreQuery: "store"},
			{Kind: "signed-in", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_MIXED,
				Scheme: pb.InboundScheme_INBOUND_SCHEME_JWT, Header: "Authorization",
				Token: &pb.InboundToken{Endpoint: "api", Path: "/keys.json", Issuer: "https://market.example",
					AudienceSetting: "client_id"}},
		},
		SettingsSchema: []byte(`{"type":"object","properties":{"client_id":{"type":"string"}},"examples":[{}]}`),
		Limits:         &pb.Limits{MemoryMb: 128, InFlight: 4},
	}, nil
}

// feedOrder is an order in XML.
type feedOrder struct {
	ID    string `xml:"id,attr"`
	Store string `xml:"store"`
	Item  string `xml:"item"`
	Count string `xml:"count"`
}

// receipt is the marketplace's own response.
type receipt struct {
	Order string `xml:"order"`
}

// Translate reads an order in XML, or a form whose field type says what it is.
func (market) Translate(_ context.Context, _ *sdk.Call, request *sdk.InboundRequest) (*sdk.Translation, error) {
	if query := request.GetQuery(); request.GetKind() == "feed" && query["state"] != "" {
		return storeReport(url.Values{"store": {query["store"]}, "state": {query["state"]}})
	}
	if request.GetKind() == "feed" {
		var sent feedOrder
		if err := sdk.ReadXML(request, &sent); err != nil {
			return nil, err
		}
		if request.GetQuery()["key"] != "" {
			return nil, sdk.Refusef("the plugin received a credential")
		}
		return placed(sent, sdk.XMLReply(201, receipt{"HUB-ID"}))
	}
	form, err := sdk.ReadForm(request)
	if err != nil {
		return nil, err
	}
	switch form.Get("type") {
	case "order":
		return placed(feedOrder{form.Get("id"), form.Get("store"), form.Get("item"), form.Get("count")},
			sdk.JSONReply(202, map[string]string{"ref": "HUB-ID"}))
	case "leak":
		return placed(feedOrder{form.Get("id"), form.Get("store"), form.Get("item"), form.Get("count")},
			sdk.Reply(200, "text/plain", []byte("HUB-ID goroutine 1 [running]: /src/market/main.go:42")))
	case "outcome":
		return sdk.Callback()
	case "store":
		return storeReport(form)
	case "menu":
		return sdk.RequestedMenu(form.Get("store"))
	case "cancel":
		return sdk.Cancelled(form.Get("id"), "changed their mind")
	}
	ignored, err := sdk.Ignored("a " + form.Get("type"))
	ignored.Reply = sdk.Reply(410, "text/plain", []byte("gone"))
	return ignored, err
}

// storeReport reads the state of a store. Its times are epoch milliseconds.
func storeReport(form url.Values) (*sdk.Translation, error) {
	states := map[string]pb.StoreState{"open": pb.StoreState_STORE_STATE_OPEN,
		"closed": pb.StoreState_STORE_STATE_CLOSED, "paused": pb.StoreState_STORE_STATE_PAUSED}
	at, _ := strconv.ParseInt(form.Get("at"), 10, 64) // 0: now
	until, _ := strconv.ParseInt(form.Get("until"), 10, 64)
	return sdk.ReportedStore(&sdk.StoreReport{PlatformStoreId: form.Get("store"), State: states[form.Get("state")],
		Reason: form.Get("why"), OccurredAt: at, Until: until})
}

func placed(sent feedOrder, reply *sdk.InboundReply) (*sdk.Translation, error) {
	count, err := strconv.ParseInt(sent.Count, 10, 64)
	if err != nil {
		return nil, sdk.Refusef("count must be a number")
	}
	reply.OrderIdMark = "HUB-ID"
	translation, err := sdk.Placed(&sdk.NewOrder{PlatformOrderId: sent.ID, StoreRefId: sent.Store,
		DeliveryType: "self", Items: []*pb.OrderItem{{RefId: sent.Item, Quantity: count}}})
	translation.Reply = reply
	return translation, err
}

// servedMenu is a menu in the marketplace's format.
type servedMenu struct {
	Store string            `json:"store"`
	Items map[string]string `json:"items"` // prices
}

// ServeMenu returns the prices of a store.
func (market) ServeMenu(_ context.Context, r *sdk.ServeRequest) (*sdk.InboundReply, error) {
	if r.GetRequest().GetHeaders()["authorization"] != "" {
		return nil, sdk.Refusef("the plugin received a credential")
	}
	menu := servedMenu{r.GetMenu().GetStore().GetPlatformStoreId(), map[string]string{}}
	for _, item := range r.GetMenu().GetItems() {
		menu.Items[item.GetRefId()] = item.GetPrice()
	}
	if r.GetRequest().GetQuery()["size"] == "large" {
		menu.Items["padding"] = strings.Repeat("x", sdk.MaxServedMenu)
	}
	return sdk.JSONReply(200, menu), nil
}

// PlanAction plans a request. The outcome of the action arrives later.
func (market) PlanAction(_ context.Context, r *pb.ActionRequest) (*sdk.Decision, error) {
	if r.GetAction() != customerData {
		return nil, sdk.Refusef("action must be %s", customerData)
	}
	return sdk.Send(&sdk.Plan{Endpoint: "api", Method: "POST", Path: "/actions"})
}

// InterpretCallback reads the outcome of an action.
func (market) InterpretCallback(_ context.Context, _ *sdk.Call,
	request *sdk.InboundRequest) (*sdk.ActionOutcome, error) {
	form, err := sdk.ReadForm(request)
	if err != nil {
		return nil, err
	}
	outcome := &sdk.ActionOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE, Action: customerData,
		PlatformOrderId: form.Get("id"), CustomerPhone: form.Get("phone"),
		Reply: sdk.JSONReply(200, map[string]bool{"seen": true})}
	if change := form.Get("change"); change != "" {
		changed, err := placed(feedOrder{form.Get("id"), form.Get("store"), form.Get("item"), form.Get("count")},
			&sdk.InboundReply{})
		if err != nil {
			return nil, err
		}
		outcome.OrderUpdate = &sdk.OrderUpdate{PlatformOrderId: form.Get("id"), ChangeId: change,
			Order: changed.GetOrder()}
	}
	return outcome, nil
}
