package sdk

import (
	"context"

	pb "github.com/servery-hub/servery/plugins/proto"
)

type pluginService struct {
	pb.UnimplementedPluginServer
	s *Server
}

// Describe tells what the plugin is.
func (p pluginService) Describe(context.Context, *pb.DescribeRequest) (*pb.Description, error) {
	return p.s.description, nil
}

// Configure checks settings: first by the schema, then by the plugin.
func (p pluginService) Configure(ctx context.Context, req *pb.ConfigureRequest) (*pb.ConfigureResponse, error) {
	problems := p.s.settings.check(req.GetCall().GetSettings())
	if configurer, ok := p.s.plugin.(Configurer); ok && len(problems) == 0 {
		var err error
		if problems, err = configurer.Configure(ctx, req.GetCall()); err != nil {
			return nil, err
		}
	}
	return &pb.ConfigureResponse{Problems: problems}, nil
}

// CheckHealth answers at once.
func (p pluginService) CheckHealth(ctx context.Context, _ *pb.CheckHealthRequest) (*pb.Health, error) {
	calls, draining := p.s.calls.state()
	health := &pb.Health{State: pb.HealthState_HEALTH_STATE_SERVING, InFlight: uint32(calls)}
	if checker, ok := p.s.plugin.(HealthChecker); ok {
		if err := checker.CheckHealth(ctx); err != nil {
			health.State, health.Message = pb.HealthState_HEALTH_STATE_DEGRADED, err.Error()
		}
	}
	if draining {
		health.State = pb.HealthState_HEALTH_STATE_DRAINING
	}
	return health, nil
}

// Drain refuses new calls and waits for those under way.
func (p pluginService) Drain(ctx context.Context, _ *pb.DrainRequest) (*pb.DrainResponse, error) {
	select {
	case <-p.s.calls.drain():
		return &pb.DrainResponse{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// withCapability answers a call by the interface that has the capability.
func withCapability[T, A any](s *Server, capability string, do func(T) (A, error)) (A, error) {
	able, ok := s.plugin.(T)
	if !ok {
		var none A
		return none, s.unimplemented(capability)
	}
	return do(able)
}

type ordersService struct {
	pb.UnimplementedOrdersServer
	s *Server
}

// Translate reads what the aggregator sent.
func (o ordersService) Translate(ctx context.Context, req *pb.TranslateRequest) (*pb.Translation, error) {
	return withCapability(o.s, CapabilityOrderTranslate, func(p OrderTranslator) (*pb.Translation, error) {
		return p.Translate(ctx, req.GetCall(), req.GetRequest())
	})
}

// PlanAcknowledge tells the aggregator that an order was taken or refused.
func (o ordersService) PlanAcknowledge(ctx context.Context, req *pb.AcknowledgeRequest) (*pb.Decision, error) {
	return withCapability(o.s, CapabilityOrderAcknowledge,
		func(p OrderAcknowledger) (*pb.Decision, error) { return p.PlanAcknowledge(ctx, req) })
}

// PlanStatus tells the aggregator of an order's new state.
func (o ordersService) PlanStatus(ctx context.Context, req *pb.OrderStatusRequest) (*pb.Decision, error) {
	return withCapability(o.s, CapabilityOrderStatus,
		func(p OrderStatusPlanner) (*pb.Decision, error) { return p.PlanOrderStatus(ctx, req) })
}

// PlanItemsOOS tells the aggregator that items of an order are out of stock.
func (o ordersService) PlanItemsOOS(ctx context.Context, req *pb.ItemsOOSRequest) (*pb.Decision, error) {
	return withCapability(o.s, CapabilityOrderItemsOOS,
		func(p ItemsOOSPlanner) (*pb.Decision, error) { return p.PlanItemsOOS(ctx, req) })
}

// InterpretItemsOOS reads the aggregator's answer to that.
func (o ordersService) InterpretItemsOOS(ctx context.Context, req *pb.InterpretRequest) (*pb.ItemsOOSOutcome, error) {
	return withCapability(o.s, CapabilityOrderOOSResult, func(p ItemsOOSInterpreter) (*pb.ItemsOOSOutcome, error) {
		return p.InterpretItemsOOS(ctx, req.GetCall(), req.GetResponse())
	})
}

type availabilityService struct {
	pb.UnimplementedAvailabilityServer
	s *Server
}

// PlanStore opens or closes a store.
func (a availabilityService) PlanStore(ctx context.Context, req *pb.StoreActionRequest) (*pb.Decision, error) {
	return withCapability(a.s, CapabilityStoreAction,
		func(p StoreActionPlanner) (*pb.Decision, error) { return p.PlanStoreAction(ctx, req) })
}

// PlanItems makes items and options available or unavailable.
func (a availabilityService) PlanItems(ctx context.Context, req *pb.ItemActionRequest) (*pb.Decision, error) {
	return withCapability(a.s, CapabilityItemAction,
		func(p ItemActionPlanner) (*pb.Decision, error) { return p.PlanItemAction(ctx, req) })
}

// InterpretAnswer reads the aggregator's answer.
func (a availabilityService) InterpretAnswer(ctx context.Context,
	req *pb.InterpretRequest) (*pb.PublishOutcome, error) {
	return withCapability(a.s, CapabilityAvailability, func(p AvailabilityInterpreter) (*pb.PublishOutcome, error) {
		return p.InterpretAvailability(ctx, req.GetCall(), req.GetAction(), req.GetResponse())
	})
}

type ridersService struct {
	pb.UnimplementedRidersServer
	s *Server
}

// PlanStatus relays a rider's status.
func (r ridersService) PlanStatus(ctx context.Context, req *pb.RiderStatusRequest) (*pb.Decision, error) {
	return withCapability(r.s, CapabilityRiderStatus,
		func(p RiderStatusPlanner) (*pb.Decision, error) { return p.PlanRiderStatus(ctx, req) })
}

// PlanLocation relays a rider's place.
func (r ridersService) PlanLocation(ctx context.Context, req *pb.RiderLocationRequest) (*pb.Decision, error) {
	return withCapability(r.s, CapabilityRiderLocation,
		func(p RiderLocationPlanner) (*pb.Decision, error) { return p.PlanRiderLocation(ctx, req) })
}

type actionsService struct {
	pb.UnimplementedActionsServer
	s *Server
}

// PlanAction decides how an action is sent.
func (a actionsService) PlanAction(ctx context.Context, req *pb.ActionRequest) (*pb.Decision, error) {
	return withCapability(a.s, CapabilityActionPlan,
		func(p ActionPlanner) (*pb.Decision, error) { return p.PlanAction(ctx, req) })
}

// InterpretResponse reads the aggregator's answer.
func (a actionsService) InterpretResponse(ctx context.Context, req *pb.InterpretRequest) (*pb.ActionOutcome, error) {
	return withCapability(a.s, CapabilityActionResponse, func(p ResponseInterpreter) (*pb.ActionOutcome, error) {
		return p.InterpretResponse(ctx, req.GetCall(), req.GetAction(), req.GetResponse())
	})
}

// InterpretCallback reads an outcome that the aggregator sends later.
func (a actionsService) InterpretCallback(ctx context.Context,
	req *pb.InterpretCallbackRequest) (*pb.ActionOutcome, error) {
	return withCapability(a.s, CapabilityActionCallback, func(p CallbackInterpreter) (*pb.ActionOutcome, error) {
		return p.InterpretCallback(ctx, req.GetCall(), req.GetRequest())
	})
}
