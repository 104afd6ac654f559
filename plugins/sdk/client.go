package sdk

import (
	"context"
	"time"

	"google.golang.org/grpc"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// The deadlines of calls. An earlier deadline of the context takes precedence. A check of a menu takes as long as its
// context allows, because the hub rechecks stored items with a longer limit.
const (
	healthDeadline = time.Second
	callDeadline   = 5 * time.Second
	menuDeadline   = 30 * time.Second
)

// Client calls one plugin. Every call has a deadline. Errors are gRPC errors, which IsRefusal and IsAbsent classify,
// or a Fault.
type Client struct {
	// Chunk is the maximum size of a chunk of a menu, in bytes. The default is ChunkSize.
	Chunk        int
	conn         grpc.ClientConnInterface
	plugin       pb.PluginClient
	menu         pb.MenuClient
	orders       pb.OrdersClient
	riders       pb.RidersClient
	actions      pb.ActionsClient
	availability pb.AvailabilityClient
	polls        pb.PollsClient
}

// NewClient returns a client for a connection, which must use DialOptions.
func NewClient(conn grpc.ClientConnInterface) *Client {
	return &Client{
		Chunk: ChunkSize, conn: conn,
		plugin: pb.NewPluginClient(conn), menu: pb.NewMenuClient(conn), orders: pb.NewOrdersClient(conn),
		riders: pb.NewRidersClient(conn), actions: pb.NewActionsClient(conn),
		availability: pb.NewAvailabilityClient(conn), polls: pb.NewPollsClient(conn),
	}
}

// Conn returns the connection.
func (c *Client) Conn() grpc.ClientConnInterface { return c.conn }

// call makes a unary call with a time limit.
func call[Q, A any](ctx context.Context, within time.Duration,
	do func(context.Context, Q, ...grpc.CallOption) (A, error), question Q) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return do(ctx, question)
}

// Describe returns the plugin's description.
func (c *Client) Describe(ctx context.Context) (*Description, error) {
	return call(ctx, callDeadline, c.plugin.Describe, &pb.DescribeRequest{})
}

// Configure validates the settings of a call. It returns no problems if they are valid.
func (c *Client) Configure(ctx context.Context, about *Call) ([]*Problem, error) {
	answer, err := call(ctx, callDeadline, c.plugin.Configure, &pb.ConfigureRequest{Call: about})
	return answer.GetProblems(), err
}

// CheckHealth returns the plugin's health. Its deadline is one second.
func (c *Client) CheckHealth(ctx context.Context) (*pb.Health, error) {
	return call(ctx, healthDeadline, c.plugin.CheckHealth, &pb.CheckHealthRequest{})
}

// Drain stops the plugin from accepting calls, and waits for the running ones.
func (c *Client) Drain(ctx context.Context) error {
	_, err := call(ctx, menuDeadline, c.plugin.Drain, &pb.DrainRequest{})
	return err
}

// InterpretPublish interprets the aggregator's response to a menu.
func (c *Client) InterpretPublish(ctx context.Context, about *Call, response *Response) (*PublishOutcome, error) {
	return call(ctx, callDeadline, c.menu.InterpretPublish, &pb.InterpretRequest{Call: about, Response: response})
}

// PlanUnlist plans the removal of a store from the aggregator.
func (c *Client) PlanUnlist(ctx context.Context, request *pb.UnlistRequest) (*Decision, error) {
	return call(ctx, menuDeadline, c.menu.PlanUnlist, request)
}

// PlanStoreAction plans the opening or closing of a store.
func (c *Client) PlanStoreAction(ctx context.Context, request *pb.StoreActionRequest) (*Decision, error) {
	return call(ctx, callDeadline, c.availability.PlanStore, request)
}

// PlanStoreBusy plans the notice of how busy a store is.
func (c *Client) PlanStoreBusy(ctx context.Context, request *pb.StoreBusyRequest) (*Decision, error) {
	return call(ctx, callDeadline, c.availability.PlanBusy, request)
}

// PlanItemAction plans the enabling or disabling of items and options.
func (c *Client) PlanItemAction(ctx context.Context, request *pb.ItemActionRequest) (*Decision, error) {
	return call(ctx, callDeadline, c.availability.PlanItems, request)
}

// InterpretAvailability interprets the aggregator's response to a store or item action.
func (c *Client) InterpretAvailability(ctx context.Context, about *Call, action string,
	response *Response) (*PublishOutcome, error) {
	return call(ctx, callDeadline, c.availability.InterpretAnswer,
		&pb.InterpretRequest{Call: about, Action: action, Response: response})
}

// Translate translates an inbound request that places or cancels an order.
func (c *Client) Translate(ctx context.Context, about *Call, request *InboundRequest) (*Translation, error) {
	return call(ctx, callDeadline, c.orders.Translate, &pb.TranslateRequest{Call: about, Request: request})
}

// TranslateFetched translates an inbound request with the response that the hub fetched for it.
func (c *Client) TranslateFetched(ctx context.Context, about *Call, request *InboundRequest,
	response *Response) (*Translation, error) {
	return call(ctx, callDeadline, c.orders.TranslateFetched,
		&pb.TranslateFetchedRequest{Call: about, Request: request, Response: response})
}

// PlanAcknowledge plans the acknowledgement of an order.
func (c *Client) PlanAcknowledge(ctx context.Context, request *pb.AcknowledgeRequest) (*Decision, error) {
	return call(ctx, callDeadline, c.orders.PlanAcknowledge, request)
}

// InterpretAcknowledge interprets the aggregator's response to an acknowledgement.
func (c *Client) InterpretAcknowledge(ctx context.Context, about *Call, response *Response) (*PublishOutcome, error) {
	return call(ctx, callDeadline, c.orders.InterpretAcknowledge,
		&pb.InterpretRequest{Call: about, Response: response})
}

// PlanOrderStatus plans the update of an order's state.
func (c *Client) PlanOrderStatus(ctx context.Context, request *pb.OrderStatusRequest) (*Decision, error) {
	return call(ctx, callDeadline, c.orders.PlanStatus, request)
}

// PlanItemsOOS plans the report that items of an order are out of stock.
func (c *Client) PlanItemsOOS(ctx context.Context, request *pb.ItemsOOSRequest) (*Decision, error) {
	return call(ctx, callDeadline, c.orders.PlanItemsOOS, request)
}

// InterpretItemsOOS interprets the aggregator's response to that report.
func (c *Client) InterpretItemsOOS(ctx context.Context, about *Call, response *Response) (*ItemsOOSOutcome, error) {
	return call(ctx, callDeadline, c.orders.InterpretItemsOOS, &pb.InterpretRequest{Call: about, Response: response})
}

// PlanRiderStatus plans the update of a rider's status.
func (c *Client) PlanRiderStatus(ctx context.Context, request *pb.RiderStatusRequest) (*Decision, error) {
	return call(ctx, callDeadline, c.riders.PlanStatus, request)
}

// PlanRiderLocation plans the update of a rider's location.
func (c *Client) PlanRiderLocation(ctx context.Context, request *pb.RiderLocationRequest) (*Decision, error) {
	return call(ctx, callDeadline, c.riders.PlanLocation, request)
}

// PlanAction plans a feature action.
func (c *Client) PlanAction(ctx context.Context, request *pb.ActionRequest) (*Decision, error) {
	return call(ctx, callDeadline, c.actions.PlanAction, request)
}

// InterpretResponse interprets the aggregator's response to an action.
func (c *Client) InterpretResponse(ctx context.Context, about *Call, action string,
	response *Response) (*ActionOutcome, error) {
	return call(ctx, callDeadline, c.actions.InterpretResponse,
		&pb.InterpretRequest{Call: about, Action: action, Response: response})
}

// InterpretCallback interprets an inbound request with the outcome of an action.
func (c *Client) InterpretCallback(ctx context.Context, about *Call, request *InboundRequest) (*ActionOutcome, error) {
	return call(ctx, callDeadline, c.actions.InterpretCallback,
		&pb.InterpretCallbackRequest{Call: about, Request: request})
}
