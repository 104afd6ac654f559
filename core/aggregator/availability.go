package aggregator

import (
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/outcome"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// decodeAvailability decodes the payload of an availability call, and returns what the platform is sent. For a store
// action only the store is set.
func decodeAvailability(call relay.Call) (p relay.ItemActionPayload, action string, err error) {
	if p, err = decodePayload[relay.ItemActionPayload](call); err != nil {
		return p, "", err
	}
	switch {
	case p.Workload != nil && p.Workload.Busy:
		return p, sdk.Busy, nil
	case p.Workload != nil:
		return p, sdk.Normal, nil
	case p.Enable && !p.StaysClosed:
		return p, sdk.Enable, nil
	}
	return p, sdk.Disable, nil
}

// planAvailability plans an availability change of a store, or of its items and options.
func (h *Host) planAvailability(ctx context.Context, plugin pluginhost.Plugin, call relay.Call,
	subject pluginhost.Subject) (none pluginhost.Decision, err error) {
	p, action, err := decodeAvailability(call)
	if err != nil {
		return none, err
	}
	subject.Store = p.StoreRefID
	if w := p.Workload; w != nil {
		if h.description(call.Plugin) != nil && !h.hasCapability(call.Plugin, sdk.CapabilityStoreBusy) {
			return none, core.Errorf(core.NotFound, "%s cannot be notified through the hub that a store is busy",
				call.Platform)
		}
		return pluginhost.PlanStoreBusy.Do(ctx, plugin, subject, &pb.StoreBusyRequest{StoreRefId: p.StoreRefID,
			PlatformStoreId: p.PlatformStoreID, Busy: w.Busy, PrepMinutes: w.PrepMinutes, Until: w.Until,
			ChangedAt: p.At})
	}
	if call.Kind == relay.StoreAction {
		return pluginhost.PlanStoreAction.Do(ctx, plugin, subject, &pb.StoreActionRequest{
			StoreRefId: p.StoreRefID, PlatformStoreId: p.PlatformStoreID, Open: action == sdk.Enable, ChangedAt: p.At,
			TurnOnAt: p.TurnOnAt})
	}
	request := &pb.ItemActionRequest{StoreRefId: p.StoreRefID, PlatformStoreId: p.PlatformStoreID, Available: p.Enable,
		ChangedAt: p.At, TurnOnAt: p.TurnOnAt}
	request.ItemRefIds, request.OptionRefIds = p.SentRefIDs()
	if h.hasCapability(call.Plugin, sdk.CapabilityItemActionFull) {
		if err := h.addUnavailable(ctx, call, p.StoreID, request); err != nil {
			return none, err
		}
	}
	return pluginhost.PlanItemAction.Do(ctx, plugin, subject, request)
}

// maxUnavailable bounds the unavailable items, and the options, of a request.
const maxUnavailable = 5000

// addUnavailable adds all unavailable items and options to a request, unless there are too many.
func (h *Host) addUnavailable(ctx context.Context, call relay.Call, store int64, r *pb.ItemActionRequest) error {
	items, options, err := h.config.Availability.Unavailable(ctx, call.Business, store, call.Platform, maxUnavailable+1)
	if err != nil {
		return err
	}
	if len(items) <= maxUnavailable && len(options) <= maxUnavailable {
		r.Complete, r.UnavailableItemRefIds, r.UnavailableOptionRefIds = true, items, options
	}
	return nil
}

// maxMenuRetries bounds the retries to enable what a platform does not have yet. Its menu is pending, and is usually
// published within 7 s.
const maxMenuRetries = 3

// interpretAvailability interprets the response to an availability change.
func (h *Host) interpretAvailability(ctx context.Context, call relay.Call, settings []byte,
	response relay.Response) (relay.Outcome, error) {
	if !h.hasCapability(call.Plugin, sdk.CapabilityAvailability) {
		return relay.Outcome{}, nil
	}
	p, action, err := decodeAvailability(call)
	if err != nil {
		return relay.Outcome{}, err
	}
	subject := subjectOf(call, settings)
	subject.Store = p.StoreRefID
	read, err := pluginhost.InterpretAvailability.Do(ctx, h.Plugin(call.Plugin), subject,
		&pb.InterpretRequest{Action: action, Response: responseForPlugin(response)})
	if err != nil {
		return relay.Outcome{}, err
	}
	result := publishOutcomeOf(read)
	problems, _ := outcome.Split(problemsOf(read.GetErrors()))
	if result.State != relay.OutcomeDone || len(problems) == 0 {
		return result, nil
	}
	if call.Kind == relay.StoreAction {
		return relay.Outcome{State: relay.OutcomeFailed, Message: problems[0].Message}, nil
	}
	items, options := p.SentRefIDs()
	result.Rejected = relay.Rejections(items, options, problems)
	if len(result.Rejected) > 0 && p.Enable && call.Attempts < maxMenuRetries {
		first := result.Rejected[0]
		result.State = relay.OutcomeRetry
		result.Message = fmt.Sprintf("the platform does not have %s %q yet: %s", first.Entity, first.RefID,
			first.Message)
	}
	return result, nil
}
