package plugintest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// compliant is a compliant plugin. Each of the other types breaks one rule.
type compliant struct{}

func (compliant) Describe(context.Context) (*sdk.Description, error) {
	return &sdk.Description{
		Id: "sound", Version: "1.0.0", DisplayName: "Sound",
		SettingsSchema: []byte(`{"type":"object","properties":{"word":{"type":"string"}},"examples":[{"word":"a"},` +
			`{"word":"b"}]}`),
		Endpoints: []*pb.Endpoint{{Name: "api", Hosts: []string{"api.example.com"}}},
		Secrets:   []*pb.Secret{{Name: "key"}},
	}, nil
}

func (compliant) CheckItems(_ context.Context, _ *sdk.Call, items []*sdk.Item) ([]*sdk.Finding, error) {
	return []*sdk.Finding{{RefId: items[0].GetRefId(), Rule: "first", Message: "is the first"}}, nil
}

func (compliant) Render(_ context.Context, call *sdk.Call, menu *sdk.Menu) (*sdk.Decision, error) {
	return sdk.Send(sdk.JSONPlan("PUT", "api", "/menu",
		map[string]any{"call": call.GetIdempotencyKey(), "items": len(menu.GetItems())}))
}

func (compliant) PlanRiderStatus(_ context.Context, r *pb.RiderStatusRequest) (*sdk.Decision, error) {
	return sdk.Send(sdk.JSONPlan("POST", "api", "/rider", r.GetStatus()))
}

type withoutExamples struct{ compliant }

func (withoutExamples) Describe(ctx context.Context) (*sdk.Description, error) {
	d, err := compliant{}.Describe(ctx)
	d.SettingsSchema = []byte(`{"type":"object"}`)
	return d, err
}

type rejectsExample struct{ compliant }

func (rejectsExample) Configure(_ context.Context, call *sdk.Call) ([]*sdk.Problem, error) {
	return []*sdk.Problem{{Path: "word", Message: "is wrong"}}, nil
}

type countsCalls struct {
	compliant
	calls *atomic.Int64
}

func (c countsCalls) PlanRiderStatus(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error) {
	return sdk.Send(sdk.JSONPlan("POST", "api", fmt.Sprintf("/rider/%d", c.calls.Add(1)), nil))
}

// usesClock responds with the seconds since a time.
type usesClock struct {
	compliant
	since time.Time
}

func (c usesClock) PlanRiderStatus(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error) {
	return sdk.Send(sdk.JSONPlan("POST", "api", "/rider", int(time.Since(c.since).Seconds())))
}

type unescapedPath struct{ compliant }

func (unescapedPath) PlanRiderStatus(_ context.Context, r *pb.RiderStatusRequest) (*sdk.Decision, error) {
	return sdk.Send(sdk.JSONPlan("POST", "api", "/orders/"+r.GetOrder().GetPlatformOrderId()+"/rider", nil))
}

type refusesRiders struct{ compliant }

func (refusesRiders) PlanRiderStatus(_ context.Context, r *pb.RiderStatusRequest) (*sdk.Decision, error) {
	return nil, sdk.Refusef("the status %q is unknown", r.GetStatus())
}

// remembersSettings returns the settings of the previous call.
type remembersSettings struct {
	compliant
	last *atomic.Value
}

func (r remembersSettings) Render(_ context.Context, call *sdk.Call, _ *sdk.Menu) (*sdk.Decision, error) {
	last, _ := r.last.Swap(string(call.GetSettings())).(string)
	return sdk.Send(sdk.JSONPlan("PUT", "api", "/menu", last))
}

// remembersCurrency returns the currency of the previous call. Its settings have no examples.
type remembersCurrency struct {
	withoutExamples
	last *atomic.Value
}

func (r remembersCurrency) Render(_ context.Context, call *sdk.Call, _ *sdk.Menu) (*sdk.Decision, error) {
	last, _ := r.last.Swap(call.GetCurrency()).(string)
	return sdk.Send(sdk.JSONPlan("PUT", "api", "/menu", last))
}

// inlinesGroups renders nested option groups within their options, which never end in a cycle.
type inlinesGroups struct{ compliant }

func (inlinesGroups) Render(ctx context.Context, call *sdk.Call, menu *sdk.Menu) (*sdk.Decision, error) {
	var render func(group string, depth int) error
	render = func(group string, depth int) error {
		if depth > len(menu.GetOptionGroups()) {
			return errors.New("the nested groups form a cycle")
		}
		for _, option := range menu.GetOptions() {
			for _, nested := range option.GetNestedOptGrps() {
				if !slices.Contains(option.GetOptGrpRefIds(), group) {
					continue
				}
				if err := render(nested, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, group := range menu.GetOptionGroups() {
		if err := render(group.GetRefId(), 1); err != nil {
			return nil, err
		}
	}
	return compliant{}.Render(ctx, call, menu)
}

// interpretsDelay reads responses to its one action, and reports no state if the aggregator has none.
type interpretsDelay struct {
	offersAction
	empty pb.OutcomeState // of an empty response
}

func (i interpretsDelay) InterpretResponse(_ context.Context, _ *sdk.Call, action string,
	r *sdk.Response) (*sdk.ActionOutcome, error) {
	switch {
	case action != "delay_order":
		return nil, fmt.Errorf("unknown action %q", action)
	case len(r.GetBody()) == 0:
		return &sdk.ActionOutcome{State: i.empty}, nil
	}
	return &sdk.ActionOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE}, nil
}

type panics struct{ compliant }

func (panics) PlanRiderStatus(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error) {
	panic("unexpected")
}

type undeclaredEndpoint struct{ compliant }

func (undeclaredEndpoint) PlanRiderStatus(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error) {
	return sdk.Send(sdk.JSONPlan("POST", "elsewhere", "/rider", nil))
}

type undeclaredCredential struct{ compliant }

func (undeclaredCredential) PlanRiderStatus(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error) {
	plan := sdk.JSONPlan("POST", "api", "/rider", nil)
	plan.Credentials = []string{"partner"}
	return sdk.Send(plan)
}

type translates struct{ translation *sdk.Translation }

func (translates) Describe(ctx context.Context) (*sdk.Description, error) {
	d, err := compliant{}.Describe(ctx)
	d.Inbound = []*pb.Inbound{{Kind: "order", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_ORDER,
		Scheme: pb.InboundScheme_INBOUND_SCHEME_EQUALS, Header: "x-key", Secret: "key"}}
	return d, err
}

func (t translates) Translate(context.Context, *sdk.Call, *sdk.InboundRequest) (*sdk.Translation, error) {
	return t.translation, nil
}

// orderIDWithoutSlash declares the path of the order id without its slash, which hubs accept.
type orderIDWithoutSlash struct{ translates }

func (p orderIDWithoutSlash) Describe(ctx context.Context) (*sdk.Description, error) {
	d, err := p.translates.Describe(ctx)
	d.Inbound[0].OrderId = "order_id"
	return d, err
}

// failsAtXML returns a fault for XML.
type failsAtXML struct{ translates }

func (failsAtXML) Translate(_ context.Context, _ *sdk.Call, r *sdk.InboundRequest) (*sdk.Translation, error) {
	if strings.Contains(r.GetHeaders()["content-type"], "xml") {
		return nil, errors.New("unexpected <")
	}
	return sdk.Ignored("a test")
}

type emptyOutcome struct{ compliant }

func (emptyOutcome) InterpretPublish(context.Context, *sdk.Call, *sdk.Response) (*sdk.PublishOutcome, error) {
	return &sdk.PublishOutcome{}, nil
}

type logsRiderName struct{ compliant }

func (logsRiderName) PlanRiderStatus(ctx context.Context, r *pb.RiderStatusRequest) (*sdk.Decision, error) {
	sdk.Logger(ctx).Info("relaying", "rider", r.GetRiderName())
	return compliant{}.PlanRiderStatus(ctx, r)
}

type unknownItem struct{ compliant }

func (unknownItem) CheckItems(context.Context, *sdk.Call, []*sdk.Item) ([]*sdk.Finding, error) {
	return []*sdk.Finding{{RefId: "nobody-asked", Rule: "any"}}, nil
}

type emptyFinding struct{ compliant }

func (emptyFinding) CheckItems(_ context.Context, _ *sdk.Call, items []*sdk.Item) ([]*sdk.Finding, error) {
	return []*sdk.Finding{{RefId: items[0].GetRefId()}}, nil
}

type leavesGoroutines struct {
	compliant
	forever chan struct{}
}

func (l leavesGoroutines) PlanRiderStatus(ctx context.Context, r *pb.RiderStatusRequest) (*sdk.Decision, error) {
	go func() { <-l.forever }()
	return compliant{}.PlanRiderStatus(ctx, r)
}

type plansNothing struct{ compliant }

func (plansNothing) PlanAction(context.Context, *pb.ActionRequest) (*sdk.Decision, error) {
	return nil, errors.New("not yet")
}

// requiresSetting rejects menus without a required setting.
type requiresSetting struct{ compliant }

func (requiresSetting) Render(ctx context.Context, call *sdk.Call, menu *sdk.Menu) (*sdk.Decision, error) {
	if !strings.Contains(string(call.GetSettings()), "word") {
		return nil, sdk.Refusef("the setting word is required")
	}
	return compliant{}.Render(ctx, call, menu)
}

// offersAction plans one action with parameters. Its schema has no examples unless they are set.
type offersAction struct {
	compliant
	examples    string
	partnerOnly bool
}

func (o offersAction) Describe(ctx context.Context) (*sdk.Description, error) {
	d, err := compliant{}.Describe(ctx)
	d.Actions = []*pb.ActionOffer{{Name: "delay_order", ParametersSchema: fmt.Appendf(nil,
		`{"type":"object","properties":{"minutes":{"type":"integer"}},"required":["minutes"]%s}`, o.examples)}}
	return d, err
}

func (o offersAction) PlanAction(_ context.Context, r *pb.ActionRequest) (*sdk.Decision, error) {
	var parameters struct {
		Minutes int `json:"minutes"`
	}
	if err := sdk.ReadParameters(r, &parameters); err != nil {
		return nil, err
	}
	if r.GetAction() != "delay_order" || parameters.Minutes == 13 ||
		o.partnerOnly && (r.GetOrder().GetDeliveryType() != "partner" || r.GetPhone() != "") {
		return nil, sdk.Refusef("not offered")
	}
	return sdk.Send(sdk.JSONPlan("POST", "api", "/delay", parameters.Minutes))
}
