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
	Chunk int
	conn  deadlined
}

// NewClient returns a client for a connection, which must use DialOptions.
func NewClient(conn grpc.ClientConnInterface) *Client { return &Client{ChunkSize, deadlined{conn}} }

// Conn returns the connection.
func (c *Client) Conn() grpc.ClientConnInterface { return c.conn.ClientConnInterface }

// deadlined adds the deadlines to the unary calls of a connection.
type deadlined struct{ grpc.ClientConnInterface }

// Invoke makes a unary call.
func (d deadlined) Invoke(ctx context.Context, method string, request, reply any, options ...grpc.CallOption) error {
	within := callDeadline
	switch method {
	case pb.Plugin_CheckHealth_FullMethodName:
		within = healthDeadline
	case pb.Plugin_Drain_FullMethodName, pb.Menu_PlanUnlist_FullMethodName, pb.Menu_Serve_FullMethodName:
		within = menuDeadline
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return d.ClientConnInterface.Invoke(ctx, method, request, reply, options...)
}

func (c *Client) plugin() pb.PluginClient { return pb.NewPluginClient(c.conn) }

// Menu returns the calls about menus. CheckMenu and Render make those with streams.
func (c *Client) Menu() pb.MenuClient { return pb.NewMenuClient(c.conn) }

// Orders returns the calls about orders.
func (c *Client) Orders() pb.OrdersClient { return pb.NewOrdersClient(c.conn) }

// Riders returns the calls about riders.
func (c *Client) Riders() pb.RidersClient { return pb.NewRidersClient(c.conn) }

// Actions returns the calls about feature actions.
func (c *Client) Actions() pb.ActionsClient { return pb.NewActionsClient(c.conn) }

// Availability returns the calls about stores and items that open or close.
func (c *Client) Availability() pb.AvailabilityClient { return pb.NewAvailabilityClient(c.conn) }

// Polls returns the calls about polls.
func (c *Client) Polls() pb.PollsClient { return pb.NewPollsClient(c.conn) }

// Describe returns the plugin's description.
func (c *Client) Describe(ctx context.Context) (*Description, error) {
	return c.plugin().Describe(ctx, &pb.DescribeRequest{})
}

// Configure validates the settings of a call. It returns no problems if they are valid.
func (c *Client) Configure(ctx context.Context, about *Call) ([]*Problem, error) {
	answer, err := c.plugin().Configure(ctx, &pb.ConfigureRequest{Call: about})
	return answer.GetProblems(), err
}

// CheckHealth returns the plugin's health. Its deadline is one second.
func (c *Client) CheckHealth(ctx context.Context) (*pb.Health, error) {
	return c.plugin().CheckHealth(ctx, &pb.CheckHealthRequest{})
}

// Drain stops the plugin from accepting calls, and waits for the running ones.
func (c *Client) Drain(ctx context.Context) error {
	_, err := c.plugin().Drain(ctx, &pb.DrainRequest{})
	return err
}
