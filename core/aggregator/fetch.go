package aggregator

import (
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/sdk"
)

// fetchOf returns what a plugin wants to fetch. A link to a host that the plugin's manifest does not allow is Invalid,
// because the aggregator sent it.
func fetchOf(translation pluginhost.Translation) (*relay.Fetch, error) {
	fetch := translation.GetFetch()
	plan, err := planOf(translation.Description, fetch.GetPlan())
	if err != nil {
		return nil, err
	}
	return &relay.Fetch{PlatformOrderID: fetch.GetPlatformOrderId(), Plan: *plan}, plan.CheckLink()
}

// PlanFetch translates a stored request before an attempt to fetch its content (callback.Translator). The
// message has a fetch, unless the plugin was changed meanwhile.
func (h *Host) PlanFetch(ctx context.Context, call relay.Call, in relay.InboundRequest) (relay.Message, error) {
	if err := h.servedByPeer(call.Plugin); err != nil {
		return relay.Message{}, err
	}
	plugin, subject, request, err := h.fetchSubject(ctx, call, in)
	if err != nil {
		return relay.Message{}, err
	}
	translation, err := plugin.PlanFetch(ctx, subject, request)
	if err != nil {
		return relay.Message{}, h.withSettingsError(ctx, plugin, subject, err)
	}
	if translation.GetFetch() == nil {
		return messageOf(ctx, plugin, subject, request, translation.Translation)
	}
	fetch, err := fetchOf(translation)
	return relay.Message{Fetch: fetch}, err
}

// ReadFetched returns the meaning of a stored request, from the fetched response (callback.Translator).
func (h *Host) ReadFetched(ctx context.Context, call relay.Call, in relay.InboundRequest,
	response relay.Response) (relay.Message, error) {
	plugin, subject, request, err := h.fetchSubject(ctx, call, in)
	if err != nil {
		return relay.Message{}, err
	}
	fetched := responseForPlugin(response)
	translation, err := plugin.TranslateFetched(ctx, subject, request, fetched)
	if err != nil {
		return relay.Message{}, err
	}
	request.Headers, request.Body = fetched.Headers, fetched.Body // that of an outcome of an action
	return messageOf(ctx, plugin, subject, request, translation)
}

func (h *Host) fetchSubject(ctx context.Context, call relay.Call, in relay.InboundRequest) (pluginhost.Plugin,
	pluginhost.Subject, *sdk.InboundRequest, error) {
	plugin, subject, err := h.subject(ctx, call.Business, call.Platform)
	if err != nil {
		return plugin, subject, nil, err
	}
	about := h.messageKind(plugin.ID(), in.Kind)
	if about == nil {
		return plugin, subject, nil, core.Errorf(core.NotFound,
			"the plugin of platform %s has no callback of the kind %q", call.Platform, in.Kind)
	}
	subject.Key, subject.Request = call.ID.String(), call.ID.String()
	subject.About = fmt.Sprintf("request %q of the aggregator, call %s", in.Kind, call.ID)
	return plugin, subject, requestForPlugin(about, in), nil
}
