package sdk

import (
	"context"

	pb "github.com/servery-hub/servery/plugins/proto"
)

type pluginService struct {
	pb.UnimplementedPluginServer
	s *Server
}

// Describe returns the plugin's description.
func (p pluginService) Describe(context.Context, *pb.DescribeRequest) (*pb.Description, error) {
	return p.s.description, nil
}

// Configure validates settings, first by the schema and then by the plugin.
func (p pluginService) Configure(ctx context.Context, req *pb.ConfigureRequest) (*pb.ConfigureResponse, error) {
	problems := p.s.settings.checkSettings(req.GetCall().GetSettings())
	if configurer, ok := p.s.plugin.(Configurer); ok && len(problems) == 0 {
		var err error
		if problems, err = configurer.Configure(ctx, req.GetCall()); err != nil {
			return nil, err
		}
	}
	return &pb.ConfigureResponse{Problems: problems}, nil
}

// CheckHealth returns the health at once.
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

// Drain rejects new calls and waits for the running ones.
func (p pluginService) Drain(ctx context.Context, _ *pb.DrainRequest) (*pb.DrainResponse, error) {
	select {
	case <-p.s.calls.drain():
		return &pb.DrainResponse{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// withCapability calls the plugin by the interface of a capability. It returns Unimplemented if the plugin does not
// have it.
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

// Translate translates an inbound request.
func (o ordersService) Translate(ctx context.Context, req *pb.TranslateRequest) (*pb.Translation, error) {
	return withCapability(o.s, CapabilityOrderTranslate, func(p OrderTranslator) (*pb.Translation, error) {
		return p.Translate(ctx, req.GetCall(), req.GetRequest())
	})
}

// TranslateFetched translates an inbound request with the response that the hub fetched for it.
func (o ordersService) TranslateFetched(ctx context.Context,
	req *pb.TranslateFetchedRequest) (*pb.Translation, error) {
	return withCapability(o.s, CapabilityOrderFetch, func(p FetchTranslator) (*pb.Translation, error) {
		return p.TranslateFetched(ctx, req.GetCall(), req.GetRequest(), req.GetResponse())
	})
}

// PlanAcknowledge plans the acknowledgement of an order.
func (o ordersService) PlanAcknowledge(ctx context.Context, req *pb.AcknowledgeRequest) (*pb.Decision, error) {
	return withCapability(o.s, CapabilityOrderAcknowledge,
		func(p OrderAcknowledger) (*pb.Decision, error) { return p.PlanAcknowledge(ctx, req) })
}

// InterpretAcknowledge interprets the aggregator's response to an acknowledgement.
func (o ordersService) InterpretAcknowledge(ctx context.Context,
	req *pb.InterpretRequest) (*pb.PublishOutcome, error) {
	return withCapability(o.s, CapabilityAcknowledgement, func(p AcknowledgeInterpreter) (*pb.PublishOutcome, error) {
		return p.InterpretAcknowledge(ctx, req.GetCall(), req.GetResponse())
	})
}

// PlanStatus plans the update of an order's state.
func (o ordersService) PlanStatus(ctx context.Context, req *pb.OrderStatusRequest) (*pb.Decision, error) {
	return withCapability(o.s, CapabilityOrderStatus, func(p OrderStatusPlanner) (*pb.Decision, error) {
		if req.GetStatus() != Preparing {
			return p.PlanOrderStatus(ctx, req)
		}
		if able, ok := o.s.plugin.(PreparingPlanner); ok {
			return able.PlanPreparing(ctx, req)
		}
		return Skip("the plugin does not report that the kitchen has started")
	})
}

// PlanItemsOOS plans the report that items of an order are out of stock.
func (o ordersService) PlanItemsOOS(ctx context.Context, req *pb.ItemsOOSRequest) (*pb.Decision, error) {
	return withCapability(o.s, CapabilityOrderItemsOOS,
		func(p ItemsOOSPlanner) (*pb.Decision, error) { return p.PlanItemsOOS(ctx, req) })
}

// InterpretItemsOOS interprets the aggregator's response to that report.
func (o ordersService) InterpretItemsOOS(ctx context.Context, req *pb.InterpretRequest) (*pb.ItemsOOSOutcome, error) {
	return withCapability(o.s, CapabilityOrderOOSResult, func(p ItemsOOSInterpreter) (*pb.ItemsOOSOutcome, error) {
		return p.InterpretItemsOOS(ctx, req.GetCall(), req.GetResponse())
	})
}

type availabilityService struct {
	pb.UnimplementedAvailabilityServer
	s *Server
}

// PlanStore plans the opening or closing of a store.
func (a availabilityService) PlanStore(ctx context.Context, req *pb.StoreActionRequest) (*pb.Decision, error) {
	return withCapability(a.s, CapabilityStoreAction,
		func(p StoreActionPlanner) (*pb.Decision, error) { return p.PlanStoreAction(ctx, req) })
}

// PlanBusy plans the notice of how busy a store is.
func (a availabilityService) PlanBusy(ctx context.Context, req *pb.StoreBusyRequest) (*pb.Decision, error) {
	return withCapability(a.s, CapabilityStoreBusy,
		func(p StoreBusyPlanner) (*pb.Decision, error) { return p.PlanStoreBusy(ctx, req) })
}

// PlanItems plans the enabling or disabling of items and options.
func (a availabilityService) PlanItems(ctx context.Context, req *pb.ItemActionRequest) (*pb.Decision, error) {
	return withCapability(a.s, CapabilityItemAction, func(p ItemActionPlanner) (*pb.Decision, error) {
		if full, ok := p.(FullItemActionPlanner); ok && req.GetComplete() {
			return full.PlanFullItemAction(ctx, req)
		}
		return p.PlanItemAction(ctx, req)
	})
}

// InterpretAnswer interprets the aggregator's response to a store or item action.
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

// PlanStatus plans the update of a rider's status.
func (r ridersService) PlanStatus(ctx context.Context, req *pb.RiderStatusRequest) (*pb.Decision, error) {
	return withCapability(r.s, CapabilityRiderStatus,
		func(p RiderStatusPlanner) (*pb.Decision, error) { return p.PlanRiderStatus(ctx, req) })
}

// PlanLocation plans the update of a rider's location.
func (r ridersService) PlanLocation(ctx context.Context, req *pb.RiderLocationRequest) (*pb.Decision, error) {
	return withCapability(r.s, CapabilityRiderLocation,
		func(p RiderLocationPlanner) (*pb.Decision, error) { return p.PlanRiderLocation(ctx, req) })
}

type actionsService struct {
	pb.UnimplementedActionsServer
	s *Server
}

// PlanAction plans a feature action. Parameters that the schema of the action rejects do not reach the plugin.
func (a actionsService) PlanAction(ctx context.Context, req *pb.ActionRequest) (*pb.Decision, error) {
	return withCapability(a.s, CapabilityActionPlan, func(p ActionPlanner) (*pb.Decision, error) {
		if err := a.s.checkParameters(req); err != nil {
			return nil, err
		}
		return p.PlanAction(ctx, req)
	})
}

// checkParameters refuses parameters that the schema of an action rejects. The plugin itself refuses actions that it
// does not offer.
func (s *Server) checkParameters(req *pb.ActionRequest) error {
	checker, offered := s.parameters[req.GetAction()]
	if !offered || len(req.GetParameters()) == 0 {
		return nil
	}
	if problems := checker.checkParameters(req.GetParameters()); len(problems) > 0 {
		return Refusef("%s %s", joinPath("parameters", problems[0].Path), problems[0].Message)
	}
	return nil
}

// InterpretResponse interprets the aggregator's response to an action.
func (a actionsService) InterpretResponse(ctx context.Context, req *pb.InterpretRequest) (*pb.ActionOutcome, error) {
	return withCapability(a.s, CapabilityActionResponse, func(p ResponseInterpreter) (*pb.ActionOutcome, error) {
		return p.InterpretResponse(ctx, req.GetCall(), req.GetAction(), req.GetResponse())
	})
}

// InterpretCallback interprets an outcome that the aggregator sends later.
func (a actionsService) InterpretCallback(ctx context.Context,
	req *pb.InterpretCallbackRequest) (*pb.ActionOutcome, error) {
	return withCapability(a.s, CapabilityActionCallback, func(p CallbackInterpreter) (*pb.ActionOutcome, error) {
		return p.InterpretCallback(ctx, req.GetCall(), req.GetRequest())
	})
}
