package pluginhost

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/servery-hub/servery/core"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// Plugin makes calls to one plugin. Their errors are Invalid, NotFound, Unavailable or Internal, as described at
// invoke, with a message for people. Calls share no state: each has its business and settings.
type Plugin struct {
	host *Host
	id   string
}

// Plugin returns the plugin with an id, which need not exist.
func (h *Host) Plugin(id string) Plugin { return Plugin{h, id} }

// ID returns the plugin's id.
func (p Plugin) ID() string { return p.id }

// Serves reports whether the plugin can be called at once.
func (p Plugin) Serves() bool {
	k := p.host.supervisor(p.id)
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current != nil
}

// Subject is what a call is about.
type Subject struct {
	Business core.BusinessID
	Platform string // the business's name for the aggregator
	Store    string // ref_id, if any
	Settings []byte // of the platform: a JSON object, or empty
	Currency string // of the business, ISO 4217; "" for calls without amounts
	Key      string // the same for every retry of a call
	Request  string // identifies the request across retries; "": its content does
	About    string // what the call is about, for people, such as order 12

	Values map[string]string // that the plugin keeps
}

func (s Subject) call() *sdk.Call {
	return &sdk.Call{Business: int64(s.Business), Platform: s.Platform, Store: s.Store, Settings: s.Settings,
		IdempotencyKey: s.Key, Currency: s.Currency, Values: s.Values}
}

// Description returns the plugin's description, or nil if it was never ready.
func (p Plugin) Description() *sdk.Description {
	if k := p.host.supervisor(p.id); k != nil {
		return k.status().Description
	}
	return nil
}

// CheckSettings returns the problems of the subject's settings, which identify the request.
func (p Plugin) CheckSettings(ctx context.Context, s Subject) ([]*sdk.Problem, error) {
	s.About, s.Request = "the settings", ""
	return invoke(ctx, p, newRequest("Plugin.Configure", s), func(ctx context.Context, i *instance) ([]*sdk.Problem,
		error) {
		problems, err := i.client.Configure(ctx, s.call())
		for _, problem := range problems {
			truncateTexts(problem)
		}
		return problems, err
	})
}

// CheckItems returns the objects that break the aggregator's rules. The time limit includes the wait for a free call. A
// timeout is Internal: a failure at these items, and no sign that the plugin hangs. So are items that are set aside.
func (p Plugin) CheckItems(ctx context.Context, s Subject, within time.Duration,
	check *sdk.Check) ([]*sdk.Finding, error) {
	content := func() []proto.Message {
		list := make([]proto.Message, 0, len(check.GetItems())+1)
		for _, item := range check.GetItems() {
			list = append(list, item)
		}
		if about := contextOf(check); proto.Size(about) > 0 {
			list = append(list, about)
		}
		return list
	}
	findings, err := callWithin(ctx, p, within, func(ctx context.Context) ([]*sdk.Finding, error) {
		return invoke(ctx, p, request{call: checkItemsCall, subject: s, content: content}, func(ctx context.Context,
			i *instance) ([]*sdk.Finding, error) {
			ctx, cancel := context.WithTimeout(ctx, within) // the plugin reads its deadline
			defer cancel()
			findings, err := i.client.CheckMenu(ctx, s.call(), check)
			if err == nil {
				err = checkResult(i, &pb.FindingsChunk{Findings: findings})
			}
			return findings, err
		})
	})
	for _, finding := range findings {
		truncateTexts(finding)
	}
	if IsSetAside(err) {
		err = withCode(core.Internal, err)
	}
	return findings, err
}

// contextOf returns a check without its items.
func contextOf(check *sdk.Check) *sdk.Check {
	return &sdk.Check{Stores: check.GetStores(), Categories: check.GetCategories(),
		OptionGroups: check.GetOptionGroups(), Options: check.GetOptions(), Taxes: check.GetTaxes(),
		Charges: check.GetCharges()}
}

// renderTimeout bounds the rendering of a menu, including the wait for a free call.
const renderTimeout = 20 * time.Second

// Render turns a store and its menu into a request in the aggregator's format. A timeout after 20 s is Internal: a
// failure at this menu.
func (p Plugin) Render(ctx context.Context, s Subject, menu *sdk.Menu) (Decision, error) {
	return callWithin(ctx, p, renderTimeout, func(ctx context.Context) (Decision, error) {
		return requestDecision(ctx, p, newRequest("Menu.Render", s, menu),
			func(ctx context.Context, c *sdk.Client) (*sdk.Decision, error) { return c.Render(ctx, s.call(), menu) })
	})
}

// maxServedInput bounds a menu that is served, which the plugin receives in one message.
const maxServedInput = sdk.MaxMessage - 1<<20

// ServeMenu returns the response to a request that fetches the menu of a store, within the time limit of Render. It
// returns TooLarge for a menu that does not fit into one message.
func (p Plugin) ServeMenu(ctx context.Context, s Subject, r *sdk.ServeRequest) (*sdk.InboundReply, error) {
	if proto.Size(r) > maxServedInput {
		return nil, core.Errorf(core.TooLarge, "the menu has more than %d bytes", maxServedInput)
	}
	r.Call = s.call()
	return callWithin(ctx, p, renderTimeout, func(ctx context.Context) (*sdk.InboundReply, error) {
		return invoke(ctx, p, newRequest("Menu.Serve", s, r.GetMenu(), p.inboundContent(r.GetRequest())),
			func(ctx context.Context, i *instance) (*sdk.InboundReply, error) {
				return i.client.Menu().Serve(ctx, r)
			})
	})
}

// PlanUnlist plans the removal of a store from the aggregator, within the time limit of Render. It sets the request's
// call from the subject.
func (p Plugin) PlanUnlist(ctx context.Context, s Subject, r *pb.UnlistRequest) (Decision, error) {
	r.Call = s.call()
	return callWithin(ctx, p, renderTimeout, func(ctx context.Context) (Decision, error) {
		return requestDecision(ctx, p, newRequest("Menu.PlanUnlist", s, r),
			func(ctx context.Context, c *sdk.Client) (*sdk.Decision, error) { return c.Menu().PlanUnlist(ctx, r) })
	})
}

// Translate translates an inbound request. An order with malformed numbers is rejected, and recorded as a fault of the
// plugin. A reply that the hub must not send is removed, and recorded as a fault.
func (p Plugin) Translate(ctx context.Context, s Subject, request *sdk.InboundRequest) (t Translation, err error) {
	about := newRequest("Orders.Translate", s, p.inboundContent(request))
	t.Translation, err = invoke(ctx, p, about, func(ctx context.Context, i *instance) (*sdk.Translation, error) {
		t.Description = i.description
		return i.client.Orders().Translate(ctx, &pb.TranslateRequest{Call: s.call(), Request: request})
	})
	if err == nil {
		err = p.checkOrder(about, t.Translation)
	}
	if err != nil {
		return Translation{}, err
	}
	if !p.mayReply(about, t.Translation) {
		t.Reply = nil
	}
	return t, nil
}

// checkOrder returns an error, and records a fault, if the order in a translation has malformed numbers.
func (p Plugin) checkOrder(about request, t *sdk.Translation) error {
	err := sdk.CheckOrder(t.GetOrder())
	if err == nil {
		return nil
	}
	fault := callFault(FaultInvalid, about, "%s", oneLine(err))
	p.recordFault(fault)
	return publicError(core.Invalid, "plugin_invalid_result", "plugin "+p.id+" returned an invalid order", fault)
}

// PlanFetch translates an inbound request again, before an attempt to fetch its content. Its errors are those of
// plans: see requestDecision.
func (p Plugin) PlanFetch(ctx context.Context, s Subject, request *sdk.InboundRequest) (Translation, error) {
	t, err := p.Translate(ctx, s, request)
	return t, planError(err)
}

// TranslateFetched translates an inbound request with the response that the hub fetched for it. Its errors are those
// of plans.
func (p Plugin) TranslateFetched(ctx context.Context, s Subject, request *sdk.InboundRequest,
	response *sdk.Response) (*sdk.Translation, error) {
	about := newRequest("Orders.TranslateFetched", s, p.inboundContent(request), response)
	t, err := invoke(ctx, p, about, func(ctx context.Context, i *instance) (*sdk.Translation, error) {
		t, err := i.client.Orders().TranslateFetched(ctx,
			&pb.TranslateFetchedRequest{Call: s.call(), Request: request, Response: response})
		if wrong := sdk.CheckFetched(t); err == nil && wrong != nil {
			return nil, &sdk.Fault{Message: oneLine(wrong)}
		}
		return t, err
	})
	if err != nil {
		return nil, planError(err)
	}
	return t, p.checkOrder(about, t)
}

// mayReply reports whether the hub may send the reply in a result. Otherwise it records a fault of the plugin.
func (p Plugin) mayReply(about request, result proto.Message) bool {
	err := sdk.CheckReply(result)
	if err != nil {
		p.recordFault(callFault(FaultInvalid, about, "%s", oneLine(err)))
	}
	return err == nil
}

// InterpretPoll interprets the response to a poll.
func (p Plugin) InterpretPoll(ctx context.Context, s Subject, r *sdk.PollRequest,
	response *sdk.Response) (*sdk.PollResult, error) {
	r.Call = s.call()
	return invoke(ctx, p, interpretPoll(s, r, response),
		func(ctx context.Context, i *instance) (*sdk.PollResult, error) {
			return i.client.Polls().Interpret(ctx, &pb.InterpretPollRequest{Poll: r, Response: response})
		})
}

// interpretPoll returns the request of InterpretPoll. The crashes of retries count once, even if their responses
// differ.
func interpretPoll(s Subject, r *sdk.PollRequest, response *sdk.Response) request {
	about := newRequest("Polls.Interpret", s, r, response)
	about.cause = func() []proto.Message {
		return []proto.Message{
			&sdk.PollRequest{Poll: r.GetPoll(), Cursor: r.GetCursor(), StoreRefId: r.GetStoreRefId()}}
	}
	return about
}

// InterpretCallback interprets an inbound request that carries the result of an action.
func (p Plugin) InterpretCallback(ctx context.Context, s Subject,
	request *sdk.InboundRequest) (*sdk.ActionOutcome, error) {
	about := newRequest("Actions.InterpretCallback", s, p.inboundContent(request))
	outcome, err := invoke(ctx, p, about, func(ctx context.Context, i *instance) (*sdk.ActionOutcome, error) {
		return i.client.Actions().InterpretCallback(ctx,
			&pb.InterpretCallbackRequest{Call: s.call(), Request: request})
	})
	if err == nil && !p.mayReply(about, outcome) {
		outcome.Reply = nil
	}
	return outcome, err
}

// IsSetAside reports whether an error means that the request is set aside.
func IsSetAside(err error) bool { return errors.As(err, new(setAsideError)) }

// IsCallFailure reports whether an error is about one call, and not about a plugin that cannot be called.
func IsCallFailure(err error) bool {
	return core.CodeOf(err) == core.Internal || IsSetAside(err) || errors.As(err, new(timeoutError)) ||
		errors.As(err, new(crashError))
}

// ReportFault records a fault that was found without a call, or after it.
func (p Plugin) ReportFault(err error) { p.recordFault(&fault{kind: FaultInvalid, text: err.Error()}) }

func (p Plugin) recordFault(f *fault) {
	if k := p.host.supervisor(p.id); k != nil {
		k.recordFault(f)
	}
}
