package aggregator

import (
	"context"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// planItemsOOS plans the report that items of an order are out of stock. If the plugin does not support it, people
// must call the platform.
func (h *Host) planItemsOOS(ctx context.Context, plugin pluginhost.Plugin, call relay.Call,
	subject pluginhost.Subject) (none pluginhost.Decision, err error) {
	if h.description(call.Plugin) != nil && !h.hasCapability(call.Plugin, sdk.CapabilityOrderItemsOOS) {
		return none, core.Errorf(core.NotFound,
			"%s cannot be notified of out-of-stock items through the hub: call the platform", call.Platform)
	}
	p, err := decodePayload[relay.ItemsOOSPayload](call)
	if err != nil {
		return none, err
	}
	return pluginhost.PlanItemsOOS.Do(ctx, plugin, subject, &pb.ItemsOOSRequest{
		Order: orderForPlugin(call.Order), ItemRefIds: p.RefIDs, OptionRefIds: p.OptionRefIDs, AllowEdit: p.AllowEdit,
		ReportedAt: p.At})
}

// interpretItemsOOS interprets the response to that report.
func (h *Host) interpretItemsOOS(ctx context.Context, call relay.Call, settings []byte,
	response relay.Response) (relay.Outcome, error) {
	if !h.hasCapability(call.Plugin, sdk.CapabilityOrderOOSResult) {
		return relay.Outcome{}, nil
	}
	read, err := pluginhost.InterpretItemsOOS.Do(ctx, h.Plugin(call.Plugin), subjectOf(call, settings),
		&pb.InterpretRequest{Response: responseForPlugin(response)})
	if err != nil {
		return relay.Outcome{}, err
	}
	return relay.Outcome{State: outcomeStates[read.GetState()], Message: read.GetMessage(),
		CustomerPhone: read.GetCustomerMaskedNumber(), Pin: read.GetPin()}, nil
}
