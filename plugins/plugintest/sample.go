package plugintest

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// The ids of the samples, which a path must escape.
const (
	sampleStore   = "S 1/2"
	sampleOrderID = "9 1/2?"
)

// sampleCall returns a call of one business. Its settings are the first example of their schema.
func sampleCall(about *sdk.Description) *pb.Call {
	settings := []byte("{}")
	schema, _ := readSchema("settings_schema", about.GetSettingsSchema()) // checkSettings reports its error
	if len(schema.Examples) > 0 {
		settings = schema.Examples[0]
	}
	return &pb.Call{Business: 1, Platform: "tasty-eats", Store: sampleStore, Settings: settings,
		IdempotencyKey: "01a1fd44-0000-7000-8000-000000000001", Currency: "USD"}
}

func sampleOrder() *pb.Order {
	return &pb.Order{OrderId: 7001, PlatformOrderId: sampleOrderID, StoreRefId: sampleStore, PlatformStoreId: "R 1/2",
		OrderType: "delivery", DeliveryType: "self", IsBulkOrder: true,
		Items: []*pb.OrderItem{{RefId: "I-1", LineId: "L 1/2", Quantity: 2,
			Options: []*pb.OrderOption{{RefId: "O-1", LineId: "L-3", Quantity: 1}}}}}
}

// riderStatuses are all statuses of a rider, as in the API specification.
var riderStatuses = []string{"ASSIGNED", "UNASSIGNED", "AT-STORE", "OUT-FOR-DELIVERY", "RIDER-REACHED", "DELIVERED",
	"NO-RIDER-FOUND"}

var orderStatuses = []string{"Placed", "Acknowledged", "Food Ready", "Dispatched", "Completed", "Cancelled"}

// sampleRequests returns requests for every method of the protocol. A plugin may refuse those that its aggregator
// would not send.
func sampleRequests(about *sdk.Description) []Request {
	call, order := sampleCall(about), sampleOrder()
	menu := sampleMenu(20)
	menu.Call = call
	list := []Request{
		{"Menu.CheckItems", &pb.ItemsChunk{Call: call, Items: menu.GetItems()}},
		{"Menu.Render", menu},
		{"Menu.PlanUnlist", &pb.UnlistRequest{Call: call, StoreRefId: sampleStore, PlatformStoreId: "R 1/2"}},
		{"Availability.PlanStore",
			&pb.StoreActionRequest{Call: call, StoreRefId: sampleStore, PlatformStoreId: "R 1/2", Open: true,
				ChangedAt: 1700000000000}},
		{"Availability.PlanStore", &pb.StoreActionRequest{Call: call, StoreRefId: sampleStore, ChangedAt: 1700000000000,
			TurnOnAt: 1700003600000}},
		{"Availability.PlanBusy", &pb.StoreBusyRequest{Call: call, StoreRefId: sampleStore, PlatformStoreId: "R 1/2",
			Busy: true, PrepMinutes: 40, Until: 1700003600000, ChangedAt: 1700000000000}},
		{"Availability.PlanBusy", &pb.StoreBusyRequest{Call: call, StoreRefId: sampleStore, Busy: true,
			ChangedAt: 1700000000000}},
		{"Availability.PlanBusy", &pb.StoreBusyRequest{Call: call, StoreRefId: sampleStore, ChangedAt: 1700000000000}},
		{"Availability.PlanItems",
			&pb.ItemActionRequest{Call: call, StoreRefId: sampleStore, ItemRefIds: []string{"I-1", "I 2/3"},
				OptionRefIds: []string{"O-1"}, ChangedAt: 1700000000000, TurnOnAt: 1700003600000}},
		{"Orders.PlanAcknowledge", &pb.AcknowledgeRequest{Call: call, Order: order, Accepted: true, PrepTime: 900,
			ChangedAt: 1700000000000}},
		{"Orders.PlanAcknowledge", &pb.AcknowledgeRequest{Call: call, Order: order, Reason: "closed",
			ChangedAt: 1700000000000, OutOfStockRefIds: []string{"I-1"}, InvalidRefIds: []string{"O-1"}}},
		{"Orders.PlanItemsOOS", &pb.ItemsOOSRequest{Call: call, Order: order, ItemRefIds: []string{"I-1", "I 2/3"},
			OptionRefIds: []string{"O-1"}, ReportedAt: 1700000000000}},
		{"Orders.PlanItemsOOS", &pb.ItemsOOSRequest{Call: call, Order: order, OptionRefIds: []string{"O-1"},
			AllowEdit: true, ReportedAt: 1700000000000}},
		{"Riders.PlanLocation", &pb.RiderLocationRequest{Call: call, Order: order, Latitude: "37.8044",
			Longitude: "-122.2712", SeenAt: 1700000000000}},
	}
	if slices.Contains(about.GetCapabilities(), sdk.CapabilityMenuContext) { // without items, too
		list = append(list, Request{"Menu.CheckItems", sampleCheck(menu)},
			Request{"Menu.CheckItems", &pb.ItemsChunk{Call: call, Stores: []*pb.Store{menu.GetStore()}}})
	}
	list = append(list, sampleFullActions(about, call)...)
	list = append(list, sampleInterpretations(about, call)...)
	response := sampleResponses()[0]
	list = append(list, samplePollRequests(about, response)...)
	list = append(list, sampleServed(about)...)
	for _, request := range sampleInbound(about) {
		list = append(list, Request{"Orders.Translate", &pb.TranslateRequest{Call: call, Request: request}},
			Request{"Orders.TranslateFetched",
				&pb.TranslateFetchedRequest{Call: call, Request: request, Response: response}},
			Request{"Actions.InterpretCallback", &pb.InterpretCallbackRequest{Call: call, Request: request}})
	}
	list = append(list, sampleStatuses(about, order)...)
	return append(list, sampleActions(about)...)
}

// sampleResponses returns responses of an aggregator: a success, an error page and an empty response.
func sampleResponses() []*pb.Response {
	return []*pb.Response{
		{Status: 200, Headers: map[string]string{"content-type": "application/json"}, Body: []byte(`{}`)},
		{Status: 500, Headers: map[string]string{"content-type": "text/html"}, Body: []byte("<html>")},
		{Status: 204}}
}

// sampleInterpretations returns each response for each call whose response a plugin can interpret, and each action.
func sampleInterpretations(about *sdk.Description, call *pb.Call) (list []Request) {
	add := func(method, action string) {
		for _, response := range sampleResponses() {
			list = append(list, Request{method, &pb.InterpretRequest{Call: call, Action: action, Response: response}})
		}
	}
	add("Menu.InterpretPublish", "")
	add("Availability.InterpretAnswer", sdk.Disable)
	add("Availability.InterpretAnswer", sdk.Busy)
	add("Orders.InterpretItemsOOS", "")
	add("Orders.InterpretAcknowledge", "")
	for _, action := range about.GetActions() {
		add("Actions.InterpretResponse", action.GetName())
	}
	if len(about.GetActions()) == 0 {
		add("Actions.InterpretResponse", "rider_body_temp")
	}
	return list
}

// sampleFullActions returns item actions with all unavailable items and options of the store.
func sampleFullActions(about *sdk.Description, call *pb.Call) []Request {
	if !slices.Contains(about.GetCapabilities(), sdk.CapabilityItemActionFull) {
		return nil
	}
	return []Request{
		{"Availability.PlanItems", &pb.ItemActionRequest{Call: call, StoreRefId: sampleStore,
			ItemRefIds: []string{"I-1"}, Complete: true, UnavailableItemRefIds: []string{"I 2/3", "I-1"},
			UnavailableOptionRefIds: []string{"O-1"}}},
		{"Availability.PlanItems", &pb.ItemActionRequest{Call: call, StoreRefId: sampleStore, Available: true,
			OptionRefIds: []string{"O-1"}, Complete: true}},
	}
}

// samplePollRequests returns requests for each declared poll.
func samplePollRequests(about *sdk.Description, response *pb.Response) (list []Request) {
	for _, name := range samplePolls(about) {
		for _, poll := range []*pb.PollRequest{{Poll: name}, {Poll: name, Cursor: "42", StoreRefId: sampleStore,
			PlatformStoreId: "R 1/2", Pending: []*pb.PendingTask{{Reference: "T 1/2", StoreRefId: sampleStore,
				Kind: pb.OutcomeKind_OUTCOME_KIND_MENU, ExpiresAt: 1700000900000}}}} {
			poll.Call, poll.PolledAt = sampleCall(about), 1700000000000
			list = append(list, Request{"Polls.Plan", poll},
				Request{"Polls.Interpret", &pb.InterpretPollRequest{Poll: poll, Response: response}})
		}
	}
	return list
}

// sampleServed returns requests for menus that the aggregator fetches.
func sampleServed(about *sdk.Description) (list []Request) {
	for _, in := range about.GetInbound() {
		if in.GetPurpose() == pb.InboundPurpose_INBOUND_PURPOSE_MENU {
			served := sampleMenu(20)
			served.Call = nil
			list = append(list, Request{"Menu.Serve", &pb.ServeRequest{Call: sampleCall(about), Menu: served,
				Request: &pb.InboundRequest{Kind: in.GetKind(), ReceivedAt: 1700000000000}}})
		}
	}
	return list
}

// sampleStatuses returns requests for each status of an order and of a rider.
func sampleStatuses(about *sdk.Description, order *pb.Order) (list []Request) {
	call := sampleCall(about)
	statuses := orderStatuses
	if slices.Contains(about.GetCapabilities(), sdk.CapabilityOrderPreparing) {
		statuses = append(slices.Clip(statuses), sdk.Preparing)
	}
	for _, status := range statuses {
		list = append(list, Request{"Orders.PlanStatus",
			&pb.OrderStatusRequest{Call: call, Order: order, Status: status, ChangedAt: 1700000000000}})
	}
	for _, status := range riderStatuses {
		list = append(list, Request{"Riders.PlanStatus", &pb.RiderStatusRequest{
			Call: call, Order: order, Status: status, RiderName: "Ravi", RiderPhoneNumber: "5551234567",
			ChangedAt: 1700000000000}})
	}
	return list
}

// sampleActions returns requests for each action, with each example of its parameters.
func sampleActions(about *sdk.Description) (list []Request) {
	add := func(name string, parameters []byte) {
		list = append(list, Request{"Actions.PlanAction", sampleAction(about, name, parameters)})
	}
	add("no_such_action", nil)
	for _, action := range about.GetActions() {
		schema, _ := readSchema("parameters_schema", action.GetParametersSchema()) // checkActions reports its error
		for _, example := range schema.Examples {
			add(action.GetName(), example)
		}
		if len(schema.Examples) == 0 {
			add(action.GetName(), nil)
		}
	}
	return list
}

// sampleAction returns a request for an action, with the fields of the specified actions too.
func sampleAction(about *sdk.Description, name string, parameters []byte) *pb.ActionRequest {
	return &pb.ActionRequest{Call: sampleCall(about), Order: sampleOrder(), Action: name,
		Temp: "98.6", WearingMask: proto.Bool(true), Phone: "5551234567", Parameters: parameters}
}

// sampleBodies are bodies that no aggregator sends, by content type.
var sampleBodies = [][2]string{{"application/json", `{}`}, {"application/x-www-form-urlencoded", "a=1&b=%20"},
	{"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--\r\n"},
	{"application/xml; charset=utf-8", `<?xml version="1.0"?><a b="1"/>`}, {"", "\xff"}}

// samplePolls returns the names of the declared polls, and one that is not declared.
func samplePolls(about *sdk.Description) []string {
	names := []string{"unknown"}
	for _, poll := range about.GetPolls() {
		names = append(names, poll.GetName())
	}
	return names
}

// sampleInbound returns requests of each declared kind and each content type.
func sampleInbound(about *sdk.Description) (list []*pb.InboundRequest) {
	kinds := []string{"unknown"}
	for _, inbound := range about.GetInbound() {
		kinds = append(kinds, inbound.GetKind())
	}
	for _, poll := range about.GetPolls() {
		kinds = append(kinds, poll.GetName())
	}
	for _, kind := range kinds {
		for _, sample := range sampleBodies {
			list = append(list, &pb.InboundRequest{Kind: kind, Headers: map[string]string{"content-type": sample[0]},
				Body: []byte(sample[1]), ReceivedAt: 1700000000000})
		}
	}
	return list
}

// sampleCheck returns a check of a menu with all its context. A plugin without menu_check_context ignores the latter.
func sampleCheck(menu *sdk.Menu) *sdk.Check {
	return &sdk.Check{Call: menu.GetCall(), Items: menu.GetItems(), Stores: []*pb.Store{menu.GetStore()},
		Categories: menu.GetCategories(), OptionGroups: menu.GetOptionGroups(), Options: menu.GetOptions(),
		Taxes: menu.GetTaxes(), Charges: menu.GetCharges()}
}

// sampleMenu returns a menu of n items. Every third has nutritional values, and half of these are incomplete.
func sampleMenu(n int) *sdk.Menu {
	menu := &sdk.Menu{
		Store: &pb.Store{RefId: sampleStore, PlatformStoreId: "R 1/2", Name: "Harbour Street", City: "Oakland",
			Active: true, OrderingEnabled: true, Currency: "USD", Timezone: "America/Los_Angeles",
			Timings: []*pb.Timing{{Day: "monday", Slots: []*pb.Slot{{StartTime: "10:00:00", EndTime: "02:00:00"}}}},
			SpecialTimings: []*pb.SpecialTiming{{Date: "2026-12-24",
				Slots: []*pb.Slot{{StartTime: "10:00:00", EndTime: "14:00:00"}}},
				{Date: "2026-12-25", Reason: "Christmas"}}},
		Categories: []*pb.Category{{RefId: "C-1", Name: "Mains"},
			{RefId: "C-2", Name: "Vegan <mains> & more", ParentRefId: "C-1", SortOrder: 1,
				Timings: []*pb.Timing{{Day: "monday", Slots: []*pb.Slot{{StartTime: "11:00:00", EndTime: "15:00:00"}}},
					{Day: "sunday"}}}},
		OptionGroups: []*pb.OptionGroup{{RefId: "G-1", Title: "Sides", MaxSelectable: -1},
			{RefId: "G-2", Title: "Size", MinSelectable: 1, MaxSelectable: 1, SortOrder: 1},
			{RefId: "G-3", Title: "Sauces", MaxSelectable: 2, SortOrder: 2}},
		Options: []*pb.Option{{RefId: "O-1", Title: "Rice", Price: "1.25", OptGrpRefIds: []string{"G-1"}},
			{RefId: "O-2", Title: "Large", Price: "2", OptGrpRefIds: []string{"G-1", "G-2"},
				NestedOptGrps: []string{"G-3"}},
			{RefId: "O-3", Title: "Chutney", Price: "0.5", OptGrpRefIds: []string{"G-3"}}},
		Taxes: []*pb.Tax{{Code: "ST_P", Title: "Sales Tax", Value: "9.25", ItemRefIds: []string{"all"}}},
		Charges: []*pb.Charge{{Code: "PC_F", Title: "Packaging Charge", Value: "0.50", ApplicableOn: "item.quantity",
			ItemRefIds: []string{"I-0"}}},
	}
	for i := range n {
		item := &pb.Item{
			RefId: fmt.Sprintf("I-%d", i), Title: fmt.Sprintf("Dish %d", i),
			Description: strings.Repeat("Fresh every day. ", i%40),
			Price:       fmt.Sprintf("%d.%02d", i%50+1, i%100), SortOrder: int64(i), CurrentStock: int64(i%7 - 1),
			FoodType:       fmt.Sprint(i%4 + 1),
			CategoryRefIds: []string{"C-2"}, OptionGroupRefIds: []string{"G-1", "G-2"},
		}
		if i%3 == 0 {
			data := []*pb.KeyValue{{Key: "fat_mg", Value: "900"}, {Key: "protein_mg", Value: "12000"}}
			if i%2 == 0 {
				for _, key := range []string{"calorie_kcal", "fiber_mg", "sodium_mg", "carbohydrate_mg", "msg_mg"} {
					data = append(data, &pb.KeyValue{Key: key, Value: fmt.Sprint(i + 1)})
				}
			}
			item.KeyValueGroups = []*pb.KeyValueGroup{{Group: sdk.Nutrition, KeyValueData: data}}
		}
		menu.Items = append(menu.Items, item)
	}
	return menu
}
