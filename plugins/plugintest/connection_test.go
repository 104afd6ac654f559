package plugintest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/servery-hub/servery/plugins/plugintest"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// connected runs a plugin behind another connection.
type connected struct {
	plugintest.Driver
	over func(grpc.ClientConnInterface) grpc.ClientConnInterface
}

func (c connected) Start() (*plugintest.Running, error) {
	running, err := c.Driver.Start()
	if err == nil {
		running.Client = sdk.NewClient(c.over(running.Client.Conn()))
	}
	return running, err
}

// zeroInFlight is a connection to a plugin whose health reports no running calls.
type zeroInFlight struct{ grpc.ClientConnInterface }

func (z zeroInFlight) Invoke(ctx context.Context, method string, request, response any,
	options ...grpc.CallOption) error {
	err := z.ClientConnInterface.Invoke(ctx, method, request, response, options...)
	if health, is := response.(*pb.Health); is {
		health.InFlight = 0
	}
	return err
}

// earlyDrain is a connection to a plugin whose Drain does not wait for running calls. Other calls wait for Drain.
type earlyDrain struct {
	grpc.ClientConnInterface
	draining *sync.RWMutex
}

func (e earlyDrain) Invoke(ctx context.Context, method string, request, response any,
	options ...grpc.CallOption) error {
	if method != pb.Plugin_Drain_FullMethodName {
		if method != pb.Plugin_CheckHealth_FullMethodName {
			e.draining.RLock()
			defer e.draining.RUnlock()
		}
		return e.ClientConnInterface.Invoke(ctx, method, request, response, options...)
	}
	e.draining.Lock()
	defer e.draining.Unlock()
	go func() { _ = sdk.NewClient(e.ClientConnInterface).Drain(context.WithoutCancel(ctx)) }()
	for {
		health, err := sdk.NewClient(e.ClientConnInterface).CheckHealth(ctx)
		if err != nil || health.GetState() == pb.HealthState_HEALTH_STATE_DRAINING {
			return err
		}
	}
}

// noDrain is a connection to a plugin without Drain.
type noDrain struct{ grpc.ClientConnInterface }

func (n noDrain) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	if method == pb.Plugin_Drain_FullMethodName {
		return errors.New("there is no Drain")
	}
	return n.ClientConnInterface.Invoke(ctx, method, request, response, options...)
}

// validParameters is a connection to a plugin that accepts any parameters.
type validParameters struct{ grpc.ClientConnInterface }

func (v validParameters) Invoke(ctx context.Context, method string, request, response any,
	options ...grpc.CallOption) error {
	if action, is := request.(*pb.ActionRequest); is {
		action = proto.CloneOf(action)
		action.Parameters, request = []byte(`{"minutes":5}`), action
	}
	return v.ClientConnInterface.Invoke(ctx, method, request, response, options...)
}

func TestBrokenRulesBehindConnectionsAreFound(t *testing.T) {
	t.Parallel()
	const drains = "draining refuses new calls and ends"
	for says, c := range map[string]struct {
		plugin sdk.Plugin
		check  string
		over   func(grpc.ClientConnInterface) grpc.ClientConnInterface
	}{
		"in_flight of its health is 0 while a call is under way": {compliant{}, "a cancelled call ends",
			func(c grpc.ClientConnInterface) grpc.ClientConnInterface { return zeroInFlight{c} }},
		"draining ended before the calls under way": {compliant{}, drains,
			func(c grpc.ClientConnInterface) grpc.ClientConnInterface { return earlyDrain{c, &sync.RWMutex{}} }},
		"there is no Drain": {compliant{}, drains,
			func(c grpc.ClientConnInterface) grpc.ClientConnInterface { return noDrain{c} }},
		"are not rejected": {offersAction{examples: `,"examples":[{"minutes":5}]`, partnerOnly: true},
			"repeated actions give the same plan",
			func(c grpc.ClientConnInterface) grpc.ClientConnInterface { return validParameters{c} }},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			driver := connected{plugintest.InProcess(c.plugin), c.over}
			require.Contains(t, driverFailures(t, driver, plugintest.Options{}.Only(c.check))[c.check], says)
		})
	}
}

// hangsWhenCancelled ends a cancelled call only with the test.
type hangsWhenCancelled struct {
	compliant
	begun, forever chan struct{}
}

func (h hangsWhenCancelled) Render(ctx context.Context, call *sdk.Call, menu *sdk.Menu) (*sdk.Decision, error) {
	if len(menu.GetItems()) == 1 {
		h.begun <- struct{}{}
		<-ctx.Done()
		<-h.forever
	}
	return compliant{}.Render(ctx, call, menu)
}

func TestCallsThatIgnoreCancellationAreFound(t *testing.T) {
	t.Parallel()
	begun, forever := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(forever) })
	const check = "a cancelled call ends"
	options := plugintest.Options{}.Only(check).CancelWhen(begun)
	require.Contains(t, failures(t, hangsWhenCancelled{begun: begun, forever: forever}, options)[check],
		"1 calls are still under way")
}

// hangs checks items until the test ends.
type hangs struct {
	compliant
	forever chan struct{}
}

func (h hangs) CheckItems(context.Context, *sdk.Call, []*sdk.Item) ([]*sdk.Finding, error) {
	<-h.forever
	return nil, errors.New("the test has ended")
}

func TestMenuUnderWayHasDeadline(t *testing.T) {
	t.Parallel()
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	const check = "draining refuses new calls and ends"
	options := plugintest.Options{}.Only(check).EndMenuWithin(time.Second)
	require.Contains(t, failures(t, hangs{forever: forever}, options)[check], "DeadlineExceeded")
}
