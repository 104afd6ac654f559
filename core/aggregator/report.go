package aggregator

import (
	"cmp"
	"context"
	"time"

	"github.com/servery-hub/servery/core/outcome"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/store"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// publishOutcomeOf converts the outcome of a response, except its errors.
func publishOutcomeOf(read *sdk.PublishOutcome) relay.Outcome {
	return relay.Outcome{State: outcomeStates[read.GetState()], Message: read.GetMessage(), Task: read.GetReference(),
		ExpiresAfter: time.Duration(read.GetExpiresAfterSeconds()) * time.Second}
}

// interpretAcknowledge interprets the response to an acknowledgement.
func (h *Host) interpretAcknowledge(ctx context.Context, call relay.Call, settings []byte,
	response relay.Response) (relay.Outcome, error) {
	if !h.hasCapability(call.Plugin, sdk.CapabilityAcknowledgement) {
		return relay.Outcome{}, nil
	}
	read, err := pluginhost.InterpretAcknowledge.Do(ctx, h.Plugin(call.Plugin), subjectOf(call, settings),
		&pb.InterpretRequest{Response: responseForPlugin(response)})
	return publishOutcomeOf(read), err
}

// reportKinds are the kinds of requests that a report names without a reference.
var reportKinds = map[pb.OutcomeKind]string{
	pb.OutcomeKind_OUTCOME_KIND_MENU:         outcome.Menu,
	pb.OutcomeKind_OUTCOME_KIND_STORE_ACTION: string(relay.StoreAction),
	pb.OutcomeKind_OUTCOME_KIND_ITEM_ACTION:  string(relay.ItemAction),
}

// reportOf converts an outcome that the aggregator reports later.
func reportOf(o *sdk.ReportedOutcome) *outcome.Report {
	return &outcome.Report{Reference: o.GetReference(), Kind: reportKinds[o.GetKind()], StoreRefID: o.GetStoreRefId(),
		PlatformStoreID: o.GetPlatformStoreId(), State: outcomeStates[o.GetState()], Message: o.GetMessage(),
		Problems: problemsOf(o.GetErrors())}
}

// storeStates are the states of stores that aggregators report.
var storeStates = map[pb.StoreState]store.PlatformState{
	pb.StoreState_STORE_STATE_OPEN:   store.OpenThere,
	pb.StoreState_STORE_STATE_CLOSED: store.ClosedThere,
	pb.StoreState_STORE_STATE_PAUSED: store.PausedThere,
}

// aboutStore converts a report or a request about a store, which was received at a time in epoch milliseconds. A time
// in the future would hide later reports.
func aboutStore(t *sdk.Translation, receivedAt int64) *relay.StoreMessage {
	r := t.GetStoreReport()
	if r == nil {
		return &relay.StoreMessage{RefID: t.GetMenuRequest().GetStoreRefId(),
			PlatformStoreID: t.GetMenuRequest().GetPlatformStoreId()}
	}
	status := &store.PlatformStatus{State: storeStates[r.GetState()], Reason: pluginhost.PublicReason(r.GetReason()),
		Since: min(cmp.Or(r.GetOccurredAt(), receivedAt), receivedAt), Until: r.GetUntil()}
	if status.State == store.OpenThere {
		status.Until = 0
	}
	return &relay.StoreMessage{RefID: r.GetStoreRefId(), PlatformStoreID: r.GetPlatformStoreId(), Status: status}
}
