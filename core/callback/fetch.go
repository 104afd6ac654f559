package callback

import (
	"cmp"
	"context"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
)

// Requests stores the requests with only a link.
type Requests interface {
	// Add queues the fetch of a request's content. It is durable when Add returns. A request that already waits
	// is not added again.
	Add(ctx context.Context, in relay.InboundRequest, platformOrderID string) error
	// Request returns the request of a call.
	Request(call relay.Call) (relay.InboundRequest, error)
}

// Translator interprets stored requests. Its errors are those of relay.Plugins.
type Translator interface {
	PlanFetch(ctx context.Context, call relay.Call, in relay.InboundRequest) (relay.Message, error)
	ReadFetched(ctx context.Context, call relay.Call, in relay.InboundRequest, response relay.Response) (relay.Message,
		error)
}

// Fetches plans and interprets the calls that fetch the content of requests. The other calls are those of Plugins.
type Fetches struct {
	relay.Plugins
	Translator Translator
	Requests   Requests
	Desk       Desk
}

// Plan plans a call (relay.Plugins). A request with its content is stored without a fetch: a poll found it, or another
// version of the plugin understands it.
func (f Fetches) Plan(ctx context.Context, call relay.Call, settings []byte) (relay.Decision, error) {
	if call.Kind != relay.InboundFetch {
		return f.Plugins.Plan(ctx, call, settings)
	}
	in, err := f.Requests.Request(call)
	if err != nil {
		return relay.Decision{}, err
	}
	message, err := f.Translator.PlanFetch(ctx, call, in)
	switch {
	case err != nil:
		return relay.Decision{}, err
	case message.Fetch != nil:
		return relay.Decision{Plan: &message.Fetch.Plan}, nil
	}
	text, err := f.store(ctx, call, message)
	return relay.Decision{Done: text}, err
}

// store stores the meaning of a message. It is not an error that the hub cannot change what a message concerns, because
// no order is lost.
func (f Fetches) store(ctx context.Context, call relay.Call, m relay.Message) (string, error) {
	caller := relay.Caller{Business: call.Business, Platform: call.Platform, Plugin: call.Plugin}
	if m.Report != nil { // an unknown store is an error
		report, err := f.Desk.withStore(ctx, caller, *m.Report)
		if err != nil {
			return "", err
		}
		m.Report = &report
	}
	result, err := f.Desk.Apply(ctx, caller, m)
	if impossible(err) && m.Order == nil && m.Store == nil {
		return core.PublicMessage(err), nil
	}
	return result.Text, err
}

// permanent are the codes of errors that a retry does not resolve.
var permanent = []core.Code{core.Invalid, core.NotFound, core.Forbidden, core.TooLarge, core.UnsupportedMedia,
	core.Conflict}

// Interpret interprets a response and stores what it means (relay.Plugins). The relay calls it again if it fails.
func (f Fetches) Interpret(ctx context.Context, call relay.Call, settings []byte,
	response relay.Response) (relay.Outcome, error) {
	if call.Kind != relay.InboundFetch {
		outcome, err := f.Plugins.Interpret(ctx, call, settings, response)
		if err == nil && outcome.FollowUp != nil {
			_, err = f.store(ctx, call, relay.Message{FollowUp: outcome.FollowUp})
		}
		return outcome, err
	}
	in, err := f.Requests.Request(call)
	if err != nil {
		return relay.Outcome{}, err
	}
	message, err := f.Translator.ReadFetched(ctx, call, in, response)
	text := ""
	if err == nil {
		text, err = f.store(ctx, call, message)
	}
	outcome := relay.Outcome{State: relay.OutcomeDone, Message: text}
	if message.Order != nil {
		outcome.PlatformOrderID = order.NewRejection(nil, message.Order).PlatformOrderID
	}
	switch {
	case err == nil:
	case slices.Contains(permanent, core.CodeOf(err)):
		outcome.State, outcome.Message = relay.OutcomeFailed, core.PublicMessage(err)
	default:
		outcome.State = relay.OutcomeRetry
		outcome.Message = "storing the fetched content failed: " + core.PublicMessage(err)
	}
	return outcome, nil
}

// Queue records a rejected order for each fetch that failed, before the relay ends its call.
type Queue struct {
	relay.Queue
	Orders Orders
}

// Finish records the results of calls (relay.Queue). The order itself has the content of a successful response, so the
// records of attempts do not repeat it.
func (q Queue) Finish(ctx context.Context, owner core.ID, results []relay.Result) error {
	results = slices.Clone(results)
	for i, r := range results {
		if r.Call.Kind != relay.InboundFetch {
			continue
		}
		if r.State == relay.Done {
			results[i] = withoutResponses(r)
		}
		if rejection, lost := lostOrder(r); lost {
			if err := q.Orders.RecordRejected(ctx, rejection); err != nil {
				return err
			}
		}
	}
	return q.Queue.Finish(ctx, owner, results)
}

func withoutResponses(r relay.Result) relay.Result {
	if r.Attempt != nil {
		last := *r.Attempt
		last.ResponseBody = nil
		r.Attempt = &last
	}
	r.Earlier = slices.Clone(r.Earlier)
	for i := range r.Earlier {
		r.Earlier[i].ResponseBody = nil
	}
	return r
}

// lostOrder returns the rejected order of a call that ended without storing what its request means.
func lostOrder(r relay.Result) (order.Rejection, bool) {
	if r.State != relay.Failed && r.State != relay.Skipped {
		return order.Rejection{}, false
	}
	code := core.Unavailable
	if r.Outcome.State == relay.OutcomeFailed {
		code = core.Invalid
	}
	var payload relay.InboundFetchPayload
	_ = json.Unmarshal(r.Call.Payload, &payload) // without an id, the order is only counted
	if payload.Poll != "" && cmp.Or(r.Outcome.PlatformOrderID, payload.PlatformOrderID) == "" {
		// perhaps no order
		return order.Rejection{}, false
	}
	rejection := order.NewRejection(core.Errorf(code, "fetching the order failed: %s", r.Message), nil)
	rejection.Business, rejection.Platform = r.Call.Business, r.Call.Platform
	rejection.PlatformOrderID = cmp.Or(r.Outcome.PlatformOrderID, payload.PlatformOrderID)
	return rejection, true
}
