// Package sdk is what a plugin is written with, and what the hub, the test kit
// and the command line speak to it with.
//
// A plugin implements Plugin and, of the small interfaces below, those it has
// something to say to; its capabilities are the interfaces it implements.
//
//	func main() { sdk.Serve(plugin{}) }
//
// A plugin decides and never acts: it has no network, no credentials and no
// state. It answers the same to the same question, and keeps nothing of a call.
package sdk

import (
	"context"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// Protocol is the version of the protocol that this package speaks.
const Protocol = 1

// The messages of the protocol, under the names that plugins use. They are
// described in plugins/proto.
type (
	// Description is what a plugin says of itself. Capabilities and protocol are filled in by Serve.
	Description = pb.Description
	// Call is the context of a call; nothing of it may be kept for another one.
	Call = pb.Call
	// Item is an item of a menu.
	Item = pb.Item
	// Menu is a whole menu of one store: all its chunks put together.
	Menu = pb.MenuChunk
	// Finding is an item that breaks a rule of the aggregator.
	Finding = pb.Finding
	// Decision is a plan, or a reason to send nothing; see Send and Skip.
	Decision = pb.Decision
	// Plan is one HTTP request to the aggregator.
	Plan = pb.Plan
	// SecretHeader is a header of a plan that carries a secret.
	SecretHeader = pb.SecretHeader
	// SuccessRule tells which answers to a plan are a success.
	SuccessRule = pb.SuccessRule
	// Response is what the aggregator answered to a plan.
	Response = pb.Response
	// InboundRequest is what the aggregator sent.
	InboundRequest = pb.InboundRequest
	// Translation is what an inbound request means; see Placed, Cancelled and Ignored.
	Translation = pb.Translation
	// NewOrder is an order in the hub's normal form.
	NewOrder = pb.NewOrder
	// Order is an order that the hub knows.
	Order = pb.Order
	// PublishError is one thing that the aggregator did not take, or is not told of.
	PublishError = pb.PublishError
	// PublishOutcome is what became of a published menu, or of a switch.
	PublishOutcome = pb.PublishOutcome
	// ItemsOOSOutcome is what became of a report of items out of stock.
	ItemsOOSOutcome = pb.ItemsOOSOutcome
	// ActionOutcome is what became of a feature action.
	ActionOutcome = pb.ActionOutcome
	// Problem is one thing wrong with settings.
	Problem = pb.Problem
)

// Plugin is what every plugin is.
type Plugin interface {
	Describe(ctx context.Context) (*Description, error)
}

// Configurer checks settings beyond what the settings' JSON Schema says; that
// is checked before, for every plugin.
type Configurer interface {
	Configure(ctx context.Context, call *Call) ([]*Problem, error)
}

// HealthChecker may say that the plugin is degraded; it must answer at once.
type HealthChecker interface {
	CheckHealth(ctx context.Context) error
}

// MenuChecker tells which items break the aggregator's rules.
type MenuChecker interface {
	CheckItems(ctx context.Context, call *Call, items []*Item) ([]*Finding, error)
}

// MenuRenderer turns a store and its menu into a request in the aggregator's
// own format.
type MenuRenderer interface {
	Render(ctx context.Context, call *Call, menu *Menu) (*Decision, error)
}

// PublishInterpreter reads the aggregator's answer to a published menu.
type PublishInterpreter interface {
	InterpretPublish(ctx context.Context, call *Call, response *Response) (*PublishOutcome, error)
}

// Unlister takes a store off the aggregator that was taken off its platform. The
// plan's own rule tells its success. Rendering the store's menu puts it back.
type Unlister interface {
	PlanUnlist(ctx context.Context, request *pb.UnlistRequest) (*Decision, error)
}

// Enable and Disable are the actions by which stores, items and options are
// switched on and off.
const (
	Enable  = "enable"
	Disable = "disable"
)

// StoreActionPlanner opens and closes stores.
type StoreActionPlanner interface {
	PlanStoreAction(ctx context.Context, request *pb.StoreActionRequest) (*Decision, error)
}

// ItemActionPlanner makes items and options available and unavailable, without
// a menu.
type ItemActionPlanner interface {
	PlanItemAction(ctx context.Context, request *pb.ItemActionRequest) (*Decision, error)
}

// AvailabilityInterpreter reads the aggregator's answer to a switch; the action is
// Enable or Disable. Something that was switched off and that the platform does
// not have is no error.
type AvailabilityInterpreter interface {
	InterpretAvailability(ctx context.Context, call *Call, action string, response *Response) (*PublishOutcome, error)
}

// OrderTranslator reads the orders that the aggregator sends, and cancels.
type OrderTranslator interface {
	Translate(ctx context.Context, call *Call, request *InboundRequest) (*Translation, error)
}

// OrderAcknowledger tells the aggregator that an order was taken or refused.
type OrderAcknowledger interface {
	PlanAcknowledge(ctx context.Context, request *pb.AcknowledgeRequest) (*Decision, error)
}

// OrderStatusPlanner tells the aggregator of an order's new state. Acknowledged
// comes again where the merchant tells another preparation time.
type OrderStatusPlanner interface {
	PlanOrderStatus(ctx context.Context, request *pb.OrderStatusRequest) (*Decision, error)
}

// ItemsOOSPlanner tells the aggregator that items of an order are out of stock.
type ItemsOOSPlanner interface {
	PlanItemsOOS(ctx context.Context, request *pb.ItemsOOSRequest) (*Decision, error)
}

// ItemsOOSInterpreter reads the aggregator's answer to that: done, failed or to be
// sent again.
type ItemsOOSInterpreter interface {
	InterpretItemsOOS(ctx context.Context, call *Call, response *Response) (*ItemsOOSOutcome, error)
}

// RiderStatusPlanner relays the status of a rider.
type RiderStatusPlanner interface {
	PlanRiderStatus(ctx context.Context, request *pb.RiderStatusRequest) (*Decision, error)
}

// RiderLocationPlanner relays the place of a rider.
type RiderLocationPlanner interface {
	PlanRiderLocation(ctx context.Context, request *pb.RiderLocationRequest) (*Decision, error)
}

// ActionPlanner plans the feature actions that the description offers.
type ActionPlanner interface {
	PlanAction(ctx context.Context, request *pb.ActionRequest) (*Decision, error)
}

// ResponseInterpreter reads the aggregator's answer to an action.
type ResponseInterpreter interface {
	InterpretResponse(ctx context.Context, call *Call, action string, response *Response) (*ActionOutcome, error)
}

// CallbackInterpreter reads the outcome of an action that the aggregator sends
// later.
type CallbackInterpreter interface {
	InterpretCallback(ctx context.Context, call *Call, request *InboundRequest) (*ActionOutcome, error)
}

// Send is the decision to carry out a plan.
func Send(plan *Plan) (*Decision, error) {
	return &Decision{Outcome: &pb.Decision_Plan{Plan: plan}}, nil
}

// Skip is the decision to send nothing; the reason is for people.
func Skip(reason string) (*Decision, error) {
	return &Decision{Outcome: &pb.Decision_Skip{Skip: reason}}, nil
}

// Placed is the translation of an inbound request that brings an order.
func Placed(order *NewOrder) (*Translation, error) {
	return &Translation{Meaning: &pb.Translation_Order{Order: order}}, nil
}

// Cancelled is the translation of an inbound request that takes an order back; the
// reason is for people and may be empty.
func Cancelled(platformOrderID, reason string) (*Translation, error) {
	return &Translation{Meaning: &pb.Translation_Cancellation{
		Cancellation: &pb.Cancellation{PlatformOrderId: platformOrderID, Reason: reason}}}, nil
}

// Ignored is the translation of an inbound request that asks for nothing; the
// reason is for people.
func Ignored(reason string) (*Translation, error) {
	return &Translation{Meaning: &pb.Translation_Ignored{Ignored: reason}}, nil
}
