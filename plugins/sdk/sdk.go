// Package sdk is the SDK for plugins. It also has the client that the hub, the
// conformance suite and the command line use to call plugins.
//
// A plugin implements Plugin and some of the capability interfaces below. Its
// capabilities are the interfaces that it implements.
//
//	func main() { sdk.Serve(plugin{}) }
//
// A plugin decides and never acts: it has no network, no credentials and no
// state. It returns the same result for the same request, and keeps nothing
// between calls.
package sdk

import (
	"context"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// Protocol is the version of the protocol that this package speaks.
const Protocol = 1

// The messages of the protocol, under the names that plugins use. The .proto
// files in plugins/proto document them.
type (
	// Description describes a plugin. Serve fills in capabilities and protocol.
	Description = pb.Description
	// Call is the context of a call. A plugin must not keep it after the call.
	Call = pb.Call
	// Item is an item of a menu.
	Item = pb.Item
	// Menu is the whole menu of one store, assembled from its chunks.
	Menu = pb.MenuChunk
	// Finding is an item that breaks a rule of the aggregator.
	Finding = pb.Finding
	// Decision is a plan, or a reason to send nothing; see Send and Skip.
	Decision = pb.Decision
	// Plan is one HTTP request to the aggregator, or several; see JSONPlan and Steps.
	Plan = pb.Plan
	// Step is one request of a plan of several; see JSONStep.
	Step = pb.Step
	// Take is a value of a step's response for later steps; see TakeValue.
	Take = pb.Take
	// SecretHeader is a header of a plan that carries a secret.
	SecretHeader = pb.SecretHeader
	// Credential is a credential that the hub produces for the requests of plans.
	Credential = pb.Credential
	// OAuth2 is an access token, as a credential; see ClientCredentials.
	OAuth2 = pb.OAuth2
	// RequestSignature is an HMAC of the request, as a credential; see Signed.
	RequestSignature = pb.RequestSignature
	// JsonWebToken is a JSON Web Token that the hub signs, as a credential; see WebToken.
	JsonWebToken = pb.JsonWebToken
	// SuccessRule defines which responses to a plan are a success.
	SuccessRule = pb.SuccessRule
	// Response is the aggregator's response to a plan.
	Response = pb.Response
	// InboundRequest is a request from the aggregator.
	InboundRequest = pb.InboundRequest
	// Translation is the meaning of an inbound request; see Placed, Cancelled, Callback, Reported, Ignored and Fetch.
	Translation = pb.Translation
	// InboundReply is the plugin's own response to an inbound request; see JSONReply.
	InboundReply = pb.InboundReply
	// ServeRequest is a request that fetches the menu of a store.
	ServeRequest = pb.ServeRequest
	// NewOrder is an order in the hub's normal form.
	NewOrder = pb.NewOrder
	// Check is what a plugin checks: items, stores, and what the items belong to. Its call is set.
	Check = pb.ItemsChunk
	// Order is an order that the hub knows.
	Order = pb.Order
	// PublishError is one object that the aggregator rejected, or that the plan left out.
	PublishError = pb.PublishError
	// PublishOutcome is the outcome of a menu, a store or item action, or an acknowledgement; see Pending.
	PublishOutcome = pb.PublishOutcome
	// ReportedOutcome is an outcome that the aggregator reports later; see Reported.
	ReportedOutcome = pb.ReportedOutcome
	CourierReport   = pb.CourierReport
	OrderUpdate     = pb.OrderUpdate
	CourierLocation = pb.CourierLocation
	// ItemsOOSOutcome is the outcome of a report of items out of stock.
	ItemsOOSOutcome = pb.ItemsOOSOutcome
	// ActionOutcome is the outcome of a feature action.
	ActionOutcome = pb.ActionOutcome
	// Problem is one error in the settings.
	Problem = pb.Problem
)

// Plugin is the interface of every plugin.
type Plugin interface {
	Describe(ctx context.Context) (*Description, error)
}

// Configurer validates settings by rules that their JSON Schema cannot express.
// The SDK validates the schema first, for every plugin.
type Configurer interface {
	Configure(ctx context.Context, call *Call) ([]*Problem, error)
}

// HealthChecker reports that the plugin is degraded. It must return at once.
type HealthChecker interface {
	CheckHealth(ctx context.Context) error
}

// MenuChecker reports the items that break the aggregator's rules.
type MenuChecker interface {
	CheckItems(ctx context.Context, call *Call, items []*Item) ([]*Finding, error)
}

// MenuContextChecker reports the objects that break the aggregator's rules, and sees
// what the items belong to. A plugin with it needs no MenuChecker.
type MenuContextChecker interface {
	CheckMenu(ctx context.Context, check *Check) ([]*Finding, error)
}

// MenuRenderer turns a store and its menu into a request in the aggregator's
// format.
type MenuRenderer interface {
	Render(ctx context.Context, call *Call, menu *Menu) (*Decision, error)
}

// MenuServer responds to requests of an aggregator that fetches menus. The inbound
// kinds with the purpose MENU need it.
type MenuServer interface {
	// ServeMenu returns the response with the menu of a store, which is that of MenuRenderer.
	ServeMenu(ctx context.Context, request *ServeRequest) (*InboundReply, error)
}

// PublishInterpreter interprets the aggregator's response to a published menu.
type PublishInterpreter interface {
	InterpretPublish(ctx context.Context, call *Call, response *Response) (*PublishOutcome, error)
}

// Unlister removes a store from the aggregator when its platform no longer lists
// it. The plan's success rule decides the outcome. A new menu restores the store.
type Unlister interface {
	PlanUnlist(ctx context.Context, request *pb.UnlistRequest) (*Decision, error)
}

// Enable and Disable are the actions for stores, items and options. Busy and Normal are those for the kitchens of
// stores.
const (
	Enable  = "enable"
	Disable = "disable"
	Busy    = "busy"
	Normal  = "normal"
)

// StoreActionPlanner opens and closes stores.
type StoreActionPlanner interface {
	PlanStoreAction(ctx context.Context, request *pb.StoreActionRequest) (*Decision, error)
}

// StoreBusyPlanner says that a store is busy, and when that ends. The store stays open.
type StoreBusyPlanner interface {
	PlanStoreBusy(ctx context.Context, request *pb.StoreBusyRequest) (*Decision, error)
}

// ItemActionPlanner enables and disables items and options, without a menu.
type ItemActionPlanner interface {
	PlanItemAction(ctx context.Context, request *pb.ItemActionRequest) (*Decision, error)
}

// FullItemActionPlanner plans the same for an aggregator that replaces all unavailable items at once. The request is
// complete. If more than 5,000 are unavailable, it is not, and PlanItemAction receives it.
type FullItemActionPlanner interface {
	ItemActionPlanner
	PlanFullItemAction(ctx context.Context, request *pb.ItemActionRequest) (*Decision, error)
}

// AvailabilityInterpreter interprets the aggregator's response to a store or item
// action, which is Enable, Disable, Busy or Normal. Disabling an object that the platform does
// not have is not an error.
type AvailabilityInterpreter interface {
	InterpretAvailability(ctx context.Context, call *Call, action string, response *Response) (*PublishOutcome, error)
}

// OrderTranslator translates the aggregator's orders and cancellations.
type OrderTranslator interface {
	Translate(ctx context.Context, call *Call, request *InboundRequest) (*Translation, error)
}

// FetchTranslator translates requests with only a link, such as that of an order.
// Translate returns a Fetch for such a request. The hub calls
// TranslateFetched with the same request, after the requests of the plan succeeded.
type FetchTranslator interface {
	TranslateFetched(ctx context.Context, call *Call, request *InboundRequest, response *Response) (*Translation, error)
}

// OrderAcknowledger notifies the aggregator that an order was accepted or rejected.
type OrderAcknowledger interface {
	PlanAcknowledge(ctx context.Context, request *pb.AcknowledgeRequest) (*Decision, error)
}

// AcknowledgeInterpreter interprets the aggregator's response to an acknowledgement.
type AcknowledgeInterpreter interface {
	InterpretAcknowledge(ctx context.Context, call *Call, response *Response) (*PublishOutcome, error)
}

// OrderStatusPlanner notifies the aggregator of an order's new state. A repeated
// Acknowledged has a new preparation time.
type OrderStatusPlanner interface {
	PlanOrderStatus(ctx context.Context, request *pb.OrderStatusRequest) (*Decision, error)
}

// PreparingPlanner plans the status Preparing: the kitchen has started. It is for an
// OrderStatusPlanner, whose PlanOrderStatus does not receive this status.
type PreparingPlanner interface {
	PlanPreparing(ctx context.Context, request *pb.OrderStatusRequest) (*Decision, error)
}

// ItemsOOSPlanner notifies the aggregator that items of an order are out of stock.
type ItemsOOSPlanner interface {
	PlanItemsOOS(ctx context.Context, request *pb.ItemsOOSRequest) (*Decision, error)
}

// ItemsOOSInterpreter interprets the aggregator's response to that report: done,
// failed or retry.
type ItemsOOSInterpreter interface {
	InterpretItemsOOS(ctx context.Context, call *Call, response *Response) (*ItemsOOSOutcome, error)
}

// RiderStatusPlanner relays the status of a rider.
type RiderStatusPlanner interface {
	PlanRiderStatus(ctx context.Context, request *pb.RiderStatusRequest) (*Decision, error)
}

// RiderLocationPlanner relays the location of a rider.
type RiderLocationPlanner interface {
	PlanRiderLocation(ctx context.Context, request *pb.RiderLocationRequest) (*Decision, error)
}

// ActionPlanner plans the feature actions that the description offers.
type ActionPlanner interface {
	PlanAction(ctx context.Context, request *pb.ActionRequest) (*Decision, error)
}

// ResponseInterpreter interprets the aggregator's response to an action.
type ResponseInterpreter interface {
	InterpretResponse(ctx context.Context, call *Call, action string, response *Response) (*ActionOutcome, error)
}

// CallbackInterpreter interprets the outcome of an action that the aggregator
// sends later.
type CallbackInterpreter interface {
	InterpretCallback(ctx context.Context, call *Call, request *InboundRequest) (*ActionOutcome, error)
}

// Send returns the decision to send a plan.
func Send(plan *Plan) (*Decision, error) {
	return &Decision{Outcome: &pb.Decision_Plan{Plan: plan}}, nil
}

// Skip returns the decision to send nothing. The reason is for people.
func Skip(reason string) (*Decision, error) {
	return &Decision{Outcome: &pb.Decision_Skip{Skip: reason}}, nil
}

// Placed returns the translation of an inbound request with a new order. If the order is invalid (CheckOrder), its
// error is a refusal that names the first field.
func Placed(order *NewOrder) (*Translation, error) {
	return &Translation{Meaning: &pb.Translation_Order{Order: order}}, refuseInvalid(order)
}

// Cancelled returns the translation of an inbound request that cancels an order.
// The reason is for people and can be empty.
func Cancelled(platformOrderID, reason string) (*Translation, error) {
	return &Translation{Meaning: &pb.Translation_Cancellation{
		Cancellation: &pb.Cancellation{PlatformOrderId: platformOrderID, Reason: reason}}}, nil
}

// Courier returns the translation of an inbound request about the aggregator's
// courier. It is for orders that the aggregator delivers.
func Courier(report *CourierReport) (*Translation, error) {
	return &Translation{Meaning: &pb.Translation_Courier{Courier: report}}, nil
}

// Updated returns the translation of an inbound request that changes an order. If the changed order is invalid, its
// error is that of Placed.
func Updated(update *OrderUpdate) (*Translation, error) {
	return &Translation{Meaning: &pb.Translation_OrderUpdate{OrderUpdate: update}}, refuseInvalid(update.GetOrder())
}

// Released returns the translation of an inbound request that lets the kitchen
// prepare an order.
func Released(platformOrderID string) (*Translation, error) {
	return &Translation{Meaning: &pb.Translation_Release{
		Release: &pb.OrderRelease{PlatformOrderId: platformOrderID}}}, nil
}

// Callback returns the translation of an inbound request that has the outcome of an
// action. The hub then calls InterpretCallback with the same request.
func Callback() (*Translation, error) {
	return &Translation{Meaning: &pb.Translation_Callback{Callback: &pb.ActionCallback{}}}, nil
}

// Ignored returns the translation of an inbound request that needs no action. The
// reason is for people.
func Ignored(reason string) (*Translation, error) {
	return &Translation{Meaning: &pb.Translation_Ignored{Ignored: reason}}, nil
}

// Fetch returns the translation of an inbound request with only a link. The plan
// can have the link as its url. The hub sends the plan, and calls TranslateFetched with the responses. The id
// of the order can be empty. With it, requests about one order are processed in
// sequence, and a failure is recorded for that order.
func Fetch(plan *Plan, platformOrderID string) (*Translation, error) {
	return &Translation{Meaning: &pb.Translation_Fetch{
		Fetch: &pb.Fetch{Plan: plan, PlatformOrderId: platformOrderID}}}, nil
}
