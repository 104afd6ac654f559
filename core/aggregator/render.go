package aggregator

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/store"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// StoreMenu is everything that determines a store's menu on a platform, at one moment.
type StoreMenu struct {
	Store    store.Stored
	Listed   bool
	Currency string
	Timezone string // IANA
	Platform core.Platform
	Access   relay.Access
	Menu     menu.Menu
	Waiting  []core.ID         // requests whose changes are included and whose outcome is not yet reported
	LeftOut  []publish.Problem // what the rules of the platform reject

	PlatformStoreID  string // the current platform store id; empty: the ref_id
	PublishedStoreID string // the id of its last publication; empty if none, or if another store now uses that id
}

// MenuSource reads menus.
type MenuSource interface {
	// Read returns a store's menu on a platform, or NotFound if the business has no such store or platform.
	Read(ctx context.Context, business core.BusinessID, storeID int64, platform string) (StoreMenu, error)
}

// CallRecorder stores the attempts to send menus.
type CallRecorder interface {
	RecordCall(ctx context.Context, result relay.Result) error
}

// Renderer renders menus with plugins, and sends them like calls.
type Renderer struct {
	Host       *Host
	Source     MenuSource
	Dispatcher relay.Dispatcher
	Calls      CallRecorder
	Log        *slog.Logger
}

// Render reads a store's current menu and renders it (publish.Renderer).
func (m Renderer) Render(ctx context.Context, w publish.Work) (r publish.Rendering, err error) {
	if w.Plugin == core.ServedByMerchant {
		return publish.Rendering{Skip: "the platform has no plugin"}, nil
	}
	if err := m.Host.servedByPeer(w.Plugin); err != nil {
		return r, err
	}
	plugin := m.Host.Plugin(w.Plugin)
	if !plugin.Serves() { // check this before reading the menu
		return r, core.Errorf(core.Unavailable, "plugin %s is not running", w.Plugin)
	}
	s, err := m.Source.Read(ctx, w.Business, w.StoreID, w.Platform)
	if err != nil {
		return r, err
	}
	if s.Platform.ServedBy != w.Plugin {
		return r, core.Errorf(core.Unavailable, "the platform changed its plugin")
	}
	subject := pluginhost.Subject{Business: w.Business, Platform: w.Platform, Store: w.StoreRef,
		Settings: s.Access.Settings, Currency: s.Currency, Key: w.CallID.String()}
	if !s.Listed {
		return m.renderDelisting(ctx, w, plugin, subject, s)
	}
	seen := menu.Effective(w.StoreRef, s.Menu, s.Platform, s.Menu.Blocked[w.Platform])
	for _, item := range seen.OmittedItems {
		s.LeftOut = append(s.LeftOut,
			publish.Problem{Entity: "item", RefID: item.RefID, Code: "options_demanded", Message: item.Message})
	}
	request, err := menuForPlugin(s, seen)
	if err != nil {
		return r, err
	}
	decision, err := plugin.Render(ctx, subject, request)
	if err != nil {
		return r, err
	}
	if decision.GetPlan() == nil {
		return publish.Rendering{Skip: decision.GetSkip(), PendingRequests: s.Waiting}, nil
	}
	plan := planOf(plugin.Description(), decision.GetPlan())
	leave, err := m.planFormerDelisting(ctx, w, plugin, subject, s)
	if err != nil {
		return r, err
	}
	r = publish.Rendering{Omitted: append(s.LeftOut, problemsOf(decision.GetLeftOut())...),
		Content: contentOf(plan, s.Access), PendingRequests: s.Waiting, PlatformStoreID: cmp.Or(s.PlatformStoreID, w.StoreRef)}
	if !*s.Store.Active {
		r.Note = "the store is inactive, so the platform shows it as closed"
	}
	r.Send = func(ctx context.Context) publish.SendResult {
		sent := m.send(ctx, w, plugin, subject, *plan, s.Access)
		if sent.State != publish.Published {
			return sent // it stays listed under its old id
		}
		left := leave(ctx)
		if left.State == publish.Waiting {
			return left
		}
		sent.Problems = append(left.Problems, sent.Problems...)
		return sent
	}
	return r, nil
}

// planFormerDelisting plans to delist a store under its old id after the platform store id has changed. If that fails, the result
// contains a problem.
func (m Renderer) planFormerDelisting(ctx context.Context, w publish.Work, plugin pluginhost.Plugin, subject pluginhost.Subject,
	s StoreMenu) (func(context.Context) publish.SendResult, error) {
	if s.PublishedStoreID == "" || s.PublishedStoreID == cmp.Or(s.PlatformStoreID, w.StoreRef) {
		return func(context.Context) publish.SendResult { return publish.SendResult{} }, nil
	}
	w.CallID = uuid.NewSHA1(w.CallID, []byte(s.PublishedStoreID)) // a request separate from the menu's
	subject.Key = w.CallID.String()
	plan, err := m.planUnlist(ctx, w, plugin, subject, s.PublishedStoreID)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) publish.SendResult {
		left := publish.SendResult{State: publish.Failed, Message: "its plugin cannot delist a store"}
		if plan != nil {
			left = m.sendCall(ctx, w, *plan, s.Access, noInterpretation)
		}
		switch left.State {
		case publish.Waiting:
			left.Message =
				fmt.Sprintf("the platform accepted the menu; the store is not delisted yet under its old id %q: %s",
					s.PublishedStoreID, left.Message)
		case publish.Failed:
			left.Problems = []publish.Problem{{Entity: "store", RefID: w.StoreRef, Code: "former_id",
				Message: fmt.Sprintf("the platform may still sell the menu under the previous id %q of the store: %s",
					s.PublishedStoreID, left.Message)}}
		}
		return left
	}, nil
}

// renderDelisting plans to delist a store that is listed on a platform. If the plugin does not support that, the platform
// keeps the store's menu.
func (m Renderer) renderDelisting(ctx context.Context, w publish.Work, plugin pluginhost.Plugin, subject pluginhost.Subject,
	s StoreMenu) (publish.Rendering, error) {
	r := publish.Rendering{Unlisted: "the store is not listed on the platform", PendingRequests: s.Waiting}
	if s.PublishedStoreID == "" {
		return r, nil
	}
	plan, err := m.planUnlist(ctx, w, plugin, subject, s.PublishedStoreID)
	if err != nil || plan == nil {
		return r, err
	}
	r.Unlisted += "; it was delisted there"
	r.Content = contentOf(plan, s.Access)
	r.Send = func(ctx context.Context) publish.SendResult {
		return m.sendCall(ctx, w, *plan, s.Access, noInterpretation)
	}
	return r, nil
}

// planUnlist plans to delist a store under a platform store id or ref_id. It returns nil if the plugin does not
// support that.
func (m Renderer) planUnlist(ctx context.Context, w publish.Work, plugin pluginhost.Plugin,
	subject pluginhost.Subject, id string) (*relay.Plan, error) {
	if !m.Host.hasCapability(w.Plugin, sdk.CapabilityMenuUnlist) {
		return nil, nil
	}
	request := &pb.UnlistRequest{StoreRefId: w.StoreRef}
	if id != w.StoreRef {
		request.PlatformStoreId = id
	}
	decision, err := plugin.PlanUnlist(ctx, subject, request)
	if err != nil || decision.GetPlan() == nil {
		return nil, err
	}
	return planOf(plugin.Description(), decision.GetPlan()), nil
}

// noInterpretation leaves the response to the plan's own rule.
func noInterpretation(context.Context, relay.Response) (relay.Outcome, error) {
	return relay.Outcome{}, nil
}

// contentOf returns all that a plan sends, and where to.
func contentOf(plan *relay.Plan, access relay.Access) []string {
	content := []string{access.BaseURLs[plan.Endpoint], plan.Method, plan.Path, string(plan.Body)}
	for _, pairs := range []map[string]string{plan.Query, plan.Headers} {
		for _, name := range slices.Sorted(maps.Keys(pairs)) {
			content = append(content, name, pairs[name])
		}
	}
	return content
}

// send sends a menu and interprets the response.
func (m Renderer) send(ctx context.Context, w publish.Work, plugin pluginhost.Plugin, subject pluginhost.Subject,
	plan relay.Plan, access relay.Access) publish.SendResult {
	var problems []publish.Problem
	sent := m.sendCall(ctx, w, plan, access, func(ctx context.Context, response relay.Response) (relay.Outcome, error) {
		if !m.Host.hasCapability(w.Plugin, sdk.CapabilityMenuResult) {
			return relay.Outcome{}, nil
		}
		read, err := plugin.InterpretPublish(ctx, subject,
			&sdk.Response{Status: int32(response.Status), Headers: response.Headers, Body: response.Body})
		if err != nil {
			return relay.Outcome{}, err
		}
		problems = problemsOf(read.GetErrors())
		outcome := relay.Outcome{State: outcomeStates[read.GetState()], Message: read.GetMessage()}
		if outcome.Message != "" && response.Status >= http.StatusBadRequest { // the message alone is ambiguous
			outcome.Message = fmt.Sprintf("the aggregator responded with %d: %s", response.Status, outcome.Message)
		}
		return outcome, nil
	})
	sent.Problems = problems
	return sent
}

func problemsOf(list []*sdk.PublishError) (problems []publish.Problem) {
	for _, e := range list {
		problems = append(problems,
			publish.Problem{Entity: e.GetEntity(), RefID: e.GetRefId(), Code: e.GetCode(), Message: e.GetMessage()})
	}
	return problems
}

// sendCall makes one attempt and records it. If the platform lacks a URL or a secret, the menu fails at once. A
// change of the settings publishes it again.
func (m Renderer) sendCall(ctx context.Context, w publish.Work, plan relay.Plan, access relay.Access,
	interpret func(context.Context, relay.Response) (relay.Outcome, error)) publish.SendResult {
	call := relay.Call{ID: w.CallID, Business: w.Business, Platform: w.Platform, Plugin: w.Plugin, Attempts: w.Attempts,
		Order: relay.Order{StoreRefID: w.StoreRef}}
	result := m.Dispatcher.Send(ctx, call, plan, access, interpret)
	if result.MissingSetting {
		result.State, result.RetryAt = relay.Failed, time.Time{}
		result.Message = fmt.Sprintf("nothing can be sent to platform %q: %s", w.Platform, result.Message)
	}
	if err := m.Calls.RecordCall(context.WithoutCancel(ctx), result); err != nil {
		m.Log.Error("recording a menu request failed", "call", w.CallID, "error", err)
	}
	sent := publish.SendResult{State: publish.Published, Message: result.Message, RetryAt: result.RetryAt,
		RetryAfter: result.RetryAfter,
		Responded:  result.Attempt != nil && result.Attempt.Responded()}
	switch result.State {
	case relay.Waiting:
		sent.State = publish.Waiting
	case relay.Failed:
		sent.State = publish.Failed
	}
	return sent
}

// menuForPlugin converts a store and its visible menu on a platform to the types of the protocol.
func menuForPlugin(s StoreMenu, e menu.EffectiveMenu) (*sdk.Menu, error) {
	out := &sdk.Menu{Store: storeForPlugin(s)}
	for i := range e.Categories {
		c := &e.Categories[i]
		names, err := localNames(c.Translations)
		if err != nil {
			return nil, err
		}
		out.Categories = append(out.Categories,
			&pb.Category{RefId: c.RefID, Name: c.Name, Description: stringOrEmpty(c.Description), SortOrder: c.SortOrder,
				ImgUrl: stringOrEmpty(c.ImgURL), ParentRefId: c.ParentRefID, Translations: names,
				Timings: timingsForPlugin(c.Timings)})
	}
	for i := range e.Items {
		item, err := effectiveItemForPlugin(&e.Items[i])
		if err != nil {
			return nil, fmt.Errorf("item %s: %w", e.Items[i].RefID, err)
		}
		out.Items = append(out.Items, item)
	}
	for i := range e.OptionGroups {
		g := &e.OptionGroups[i]
		names, err := localNames(g.Translations)
		if err != nil {
			return nil, err
		}
		out.OptionGroups = append(out.OptionGroups,
			&pb.OptionGroup{RefId: g.RefID, Title: g.Title, Description: stringOrEmpty(g.Description),
				MinSelectable: g.MinSelectable,
				MaxSelectable: g.MaxSelectable, MultiOptionsEnabled: g.MultiOptionsEnabled, SortOrder: g.SortOrder,
				DisplayInline: g.DisplayInline, Translations: names})
	}
	for i := range e.Options {
		option, err := effectiveOptionForPlugin(&e.Options[i])
		if err != nil {
			return nil, fmt.Errorf("option %s: %w", e.Options[i].RefID, err)
		}
		out.Options = append(out.Options, option)
	}
	for i := range e.Taxes {
		t := &e.Taxes[i]
		out.Taxes = append(out.Taxes,
			&pb.Tax{Code: t.Code, Title: t.Title, Value: t.Structure.Value.String(), ItemRefIds: t.ItemRefIDs})
	}
	for i := range e.Charges {
		c := &e.Charges[i]
		charge := &pb.Charge{Code: c.Code, Title: c.Title, Value: c.Structure.Value.String(),
			ApplicableOn: c.Structure.ApplicableOn, ItemRefIds: c.ItemRefIDs}
		if err := decodeStored(c.FulfillmentModes, &charge.FulfillmentModes); err != nil {
			return nil, err
		}
		out.Charges = append(out.Charges, charge)
	}
	return out, nil
}
