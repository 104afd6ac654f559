package aggregator

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/servery-hub/servery/core/outcome"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/poll"
	"github.com/servery-hub/servery/core/relay"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// Polls returns the polls that a plugin declares (poll.Plugins).
func (h *Host) Polls(plugin string) (list []poll.Declaration) {
	for _, p := range h.description(plugin).GetPolls() {
		list = append(list, poll.Declaration{Name: p.GetName(), PerStore: p.GetPerStore(),
			OnlyPending: p.GetOnlyPending(), Period: time.Duration(p.GetPeriodSeconds()) * time.Second})
	}
	return list
}

// RunningPolls returns the polls of the plugins that run here.
func (h *Host) RunningPolls() map[string][]poll.Declaration {
	polls := map[string][]poll.Declaration{}
	for _, s := range h.Status() {
		if list := h.Polls(s.ID); len(list) > 0 && h.Plugin(s.ID).Serves() {
			polls[s.ID] = list
		}
	}
	return polls
}

// PlanPoll plans a run of a poll (poll.Plugins).
func (h *Host) PlanPoll(ctx context.Context, call relay.Call, run poll.Run, settings []byte) (relay.Decision, error) {
	if err := h.servedByPeer(call.Plugin); err != nil {
		return relay.Decision{}, err
	}
	plugin := h.Plugin(call.Plugin)
	subject, request, err := pollRequest(call, run, settings)
	if err != nil {
		return relay.Decision{}, err
	}
	decision, err := pluginhost.PlanPoll.Do(ctx, plugin, subject, request)
	if err != nil || decision.GetPlan() == nil {
		return relay.Decision{Skip: decision.GetSkip()}, h.withSettingsError(ctx, plugin, subject, err)
	}
	plan, err := planOf(decision.Description, decision.GetPlan())
	return relay.Decision{Plan: plan}, err
}

// ReadPoll interprets the response to a poll (poll.Plugins).
func (h *Host) ReadPoll(ctx context.Context, call relay.Call, run poll.Run, settings []byte,
	response relay.Response) (polled relay.Polled, err error) {
	subject, request, err := pollRequest(call, run, settings)
	if err != nil {
		return polled, err
	}
	result, err := h.Plugin(call.Plugin).InterpretPoll(ctx, subject, request, responseForPlugin(response))
	if err != nil {
		return polled, err
	}
	polled.Cursor, polled.More = result.GetCursor(), result.GetMore()
	for _, m := range result.GetMessages() {
		polled.Messages = append(polled.Messages, relay.PolledMessage{Body: m.GetBody(),
			ContentType: cmp.Or(m.GetContentType(), "application/json"), PlatformOrderID: m.GetPlatformOrderId()})
	}
	return polled, nil
}

func pollRequest(call relay.Call, run poll.Run, settings []byte) (pluginhost.Subject, *sdk.PollRequest, error) {
	p, err := decodePayload[relay.PollPayload](call)
	subject := subjectOf(call, settings)
	subject.Store, subject.About = run.StoreRefID, fmt.Sprintf("poll %q, run %s", p.Poll, call.ID)
	subject.Request = "" // its content identifies a request that crashes the plugin in each run
	request := &sdk.PollRequest{Poll: p.Poll, Cursor: run.Cursor, StoreRefId: run.StoreRefID,
		PlatformStoreId: run.PlatformStoreID, PolledAt: call.DueAt.UnixMilli()}
	for _, task := range run.Pending {
		request.Pending = append(request.Pending, &pb.PendingTask{Reference: task.Reference, Kind: kindOf(task.Kind),
			StoreRefId: task.StoreRefID, ExpiresAt: task.Deadline.UnixMilli()})
	}
	return subject, request, err
}

// kindOf returns the kind of a pending request, or UNSPECIFIED for an acknowledgement.
func kindOf(kind string) pb.OutcomeKind {
	switch kind {
	case outcome.Menu:
		return pb.OutcomeKind_OUTCOME_KIND_MENU
	case string(relay.StoreAction):
		return pb.OutcomeKind_OUTCOME_KIND_STORE_ACTION
	case string(relay.ItemAction):
		return pb.OutcomeKind_OUTCOME_KIND_ITEM_ACTION
	}
	return pb.OutcomeKind_OUTCOME_KIND_UNSPECIFIED
}

// messageKind returns the declaration of a kind of stored message: a request of the aggregator, or what a poll found.
func (h *Host) messageKind(plugin, kind string) *pb.Inbound {
	for _, p := range h.Polls(plugin) {
		if p.Name == kind {
			return &pb.Inbound{Kind: kind, Purpose: pb.InboundPurpose_INBOUND_PURPOSE_MIXED}
		}
	}
	return h.inbound(plugin, kind)
}
