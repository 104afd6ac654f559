package aggregator

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/outcome"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/queue"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/store"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// StoreMenu is everything that determines a store's menu on a platform, at one moment.
type StoreMenu struct {
	Store    store.Stored
	Listed   bool
	Blocked  string // the platform lists the store, but its rules reject it: why
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

	// SaveSteps stores the completed steps of a publication, see relay.SaveSteps; nil: none are stored.
	SaveSteps func(ctx context.Context, w publish.Work, steps []byte) (bool, error)
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
	subject, err := m.Host.withValues(ctx, pluginhost.Subject{Business: w.Business, Platform: w.Platform,
		Store: w.StoreRef, Settings: s.Access.Settings, Currency: s.Currency, Key: w.CallID.String(),
		About: fmt.Sprintf("the menu of store %q", w.StoreRef)}, s.Access)
	if err != nil {
		return r, err
	}
	p := publication{m, w, plugin, s, subject}
	if !s.Listed {
		return p.renderDelisting(ctx)
	}
	return p.renderMenu(ctx)
}

// publication is the menu of a store to publish on a platform, with the plugin that renders it.
type publication struct {
	Renderer
	work    publish.Work
	plugin  pluginhost.Plugin
	store   StoreMenu
	subject pluginhost.Subject
}

// renderMenu renders the menu of a store that is listed on the platform.
func (p publication) renderMenu(ctx context.Context) (r publish.Rendering, err error) {
	w, s := p.work, p.store
	visible := menu.Effective(w.StoreRef, s.Menu, s.Platform, s.Menu.Blocked[w.Platform])
	for _, item := range visible.OmittedItems {
		s.LeftOut = append(s.LeftOut,
			publish.Problem{Entity: "item", RefID: item.RefID, Code: "options_demanded", Message: item.Message})
	}
	request, err := menuForPlugin(visible)
	if err != nil {
		return r, err
	}
	request.Store = storeForPlugin(s)
	decision, err := p.plugin.Render(ctx, p.subject, request)
	if err != nil {
		return r, err
	}
	if decision.GetPlan() == nil {
		return publish.Rendering{Skip: decision.GetSkip(), PendingRequests: s.Waiting}, nil
	}
	plan, err := planOf(decision.Description, decision.GetPlan())
	if err != nil {
		return r, err
	}
	delistFormer, err := p.planFormerDelisting(ctx)
	if err != nil {
		return r, err
	}
	r = publish.Rendering{Omitted: append(s.LeftOut, problemsOf(decision.GetLeftOut())...),
		Content: contentOf(plan, s.Access), PendingRequests: s.Waiting,
		PlatformStoreID: cmp.Or(s.PlatformStoreID, w.StoreRef), Document: documentOf(plan)}
	if !*s.Store.Active {
		r.Note = "the store is inactive, so the platform shows it as closed"
	}
	r.Send = func(ctx context.Context) publish.SendResult {
		sent := p.send(ctx, *plan)
		if sent.Exchange != nil {
			sent.Exchange.Body = r.Document
		}
		if sent.State != publish.Published && sent.State != publish.Pending {
			return sent // it stays listed under its old id
		}
		delisted := delistFormer(ctx)
		if delisted.State == publish.Waiting && sent.State == publish.Published {
			delisted.Exchange = sent.Exchange
			return delisted
		}
		sent.Problems = append(delisted.Problems, sent.Problems...)
		return sent
	}
	return r, nil
}

// planFormerDelisting plans to delist a store under its old id after the platform store id has changed. If that fails,
// the result contains a problem.
func (p publication) planFormerDelisting(ctx context.Context) (func(context.Context) publish.SendResult, error) {
	s := p.store
	if s.PublishedStoreID == "" || s.PublishedStoreID == cmp.Or(s.PlatformStoreID, p.work.StoreRef) {
		return func(context.Context) publish.SendResult { return publish.SendResult{} }, nil
	}
	p.work.CallID = uuid.NewSHA1(p.work.CallID, []byte(s.PublishedStoreID)) // a request separate from the menu's
	p.subject.Key = p.work.CallID.String()
	p.work.Steps, p.SaveSteps = nil, nil // the menu stores its steps there
	plan, err := p.planDelisting(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) publish.SendResult {
		result := publish.SendResult{State: publish.Failed, Message: "its plugin cannot delist a store"}
		if plan != nil {
			result = p.sendCall(ctx, *plan, noInterpretation)
		}
		if result.State == publish.Waiting || result.State == publish.Failed {
			result.Problems = []publish.Problem{{Entity: "store", RefID: p.work.StoreRef, Code: "former_id",
				Message: fmt.Sprintf("the platform may still sell the menu under the previous id %q of the store: %s",
					s.PublishedStoreID, result.Message)}}
		}
		if result.State == publish.Waiting {
			result.Message =
				fmt.Sprintf("the platform accepted the menu; the store is not delisted yet under its old id %q: %s",
					s.PublishedStoreID, result.Message)
		}
		return result
	}, nil
}

// renderDelisting plans to delist a store that is listed on a platform. If the plugin does not support that, the
// platform keeps the store's menu.
func (p publication) renderDelisting(ctx context.Context) (publish.Rendering, error) {
	s := p.store
	r := publish.Rendering{Unlisted: "the store is not listed on the platform", PendingRequests: s.Waiting}
	if s.Blocked != "" {
		r.Unlisted = "the rules of the platform keep the store off: " + s.Blocked
	}
	if s.PublishedStoreID == "" {
		return r, nil
	}
	plan, err := p.planDelisting(ctx)
	if err != nil || plan == nil {
		return r, err
	}
	r.Unlisted += "; it was delisted there"
	r.Content = contentOf(plan, s.Access)
	r.Send = func(ctx context.Context) publish.SendResult {
		return p.sendCall(ctx, *plan, noInterpretation)
	}
	return r, nil
}

// planDelisting plans to delist the store under the id of its last publication. It returns nil if the plugin does not
// support that.
func (p publication) planDelisting(ctx context.Context) (*relay.Plan, error) {
	if !p.Host.hasCapability(p.work.Plugin, sdk.CapabilityMenuUnlist) {
		return nil, nil
	}
	request := &pb.UnlistRequest{StoreRefId: p.work.StoreRef}
	if id := p.store.PublishedStoreID; id != p.work.StoreRef {
		request.PlatformStoreId = id
	}
	decision, err := p.plugin.PlanUnlist(ctx, p.subject, request)
	if err != nil || decision.GetPlan() == nil {
		return nil, err
	}
	return planOf(decision.Description, decision.GetPlan())
}

// noInterpretation leaves the response to the plan's own rule.
func noInterpretation(context.Context, relay.Response) (relay.Outcome, error) {
	return relay.Outcome{}, nil
}

// send sends a menu and interprets the response.
func (p publication) send(ctx context.Context, plan relay.Plan) publish.SendResult {
	var problems []publish.Problem
	sent := p.sendCall(ctx, plan, func(ctx context.Context, response relay.Response) (relay.Outcome, error) {
		if !p.Host.hasCapability(p.work.Plugin, sdk.CapabilityMenuResult) {
			return relay.Outcome{}, nil
		}
		read, err := pluginhost.InterpretPublish.Do(ctx, p.plugin, p.responseSubject(),
			&pb.InterpretRequest{Response: responseForPlugin(response)})
		if err != nil {
			return relay.Outcome{}, err
		}
		problems = problemsOf(read.GetErrors())
		result := publishOutcomeOf(read)
		if result.Message != "" && response.Status >= http.StatusBadRequest { // the message alone is ambiguous
			result.Message = fmt.Sprintf("the aggregator responded with %d: %s", response.Status, result.Message)
		}
		return result, nil
	})
	sent.Problems = problems
	return sent
}

// responseSubject returns the subject of the interpretation of a response. The call identifies that request, because
// the responses to different menus can be equal.
func (p publication) responseSubject() pluginhost.Subject {
	subject := p.subject
	subject.Request = p.work.CallID.String()
	return subject
}

func problemsOf(list []*sdk.PublishError) (problems []publish.Problem) {
	for _, e := range list {
		p := publish.Problem{Entity: e.GetEntity(), RefID: e.GetRefId(), Code: e.GetCode(), Message: e.GetMessage()}
		if e.GetSeverity() == pb.FindingSeverity_FINDING_SEVERITY_WARNING {
			p.Severity = outcome.Warning
		}
		problems = append(problems, p)
	}
	return problems
}

// sendCall makes one attempt and records it. If the platform lacks a URL or a secret, the menu fails at once. A
// change of the settings publishes it again.
func (p publication) sendCall(ctx context.Context, plan relay.Plan,
	interpret func(context.Context, relay.Response) (relay.Outcome, error)) publish.SendResult {
	w := p.work
	call := relay.Call{ID: w.CallID, Business: w.Business, Platform: w.Platform, Plugin: w.Plugin, Attempts: w.Attempts,
		Order: relay.Order{StoreRefID: w.StoreRef}, Steps: w.Steps}
	if p.SaveSteps != nil {
		p.Dispatcher.SaveSteps = func(ctx context.Context, _ relay.Call, steps []byte) (bool, error) {
			return p.SaveSteps(ctx, w, steps)
		}
	}
	result := p.Dispatcher.Send(ctx, call, plan, p.store.Access, interpret)
	if result.MissingSetting {
		result.State, result.RetryAt = relay.Failed, time.Time{}
		result.Message = fmt.Sprintf("nothing can be sent to platform %q: %s", w.Platform, result.Message)
	}
	if err := p.Calls.RecordCall(context.WithoutCancel(ctx), result); err != nil {
		p.Log.Error("recording a menu request failed", "call", w.CallID, "error", err)
	}
	sent := publish.SendResult{State: publish.Published, Message: result.Message, RetryAt: result.RetryAt,
		RetryAfter: result.RetryAfter, Uncounted: result.Uncounted,
		Responded: result.Response() == queue.Responded, Unsent: result.Response() == queue.NoRequest}
	if a := result.Attempt; a != nil && !sent.Unsent {
		sent.Exchange = &publish.Exchange{At: a.StartedAt, Status: a.Status, Response: a.ResponseBody}
	}
	switch result.State {
	case relay.Waiting:
		sent.State = publish.Waiting
	case relay.Failed:
		sent.State = publish.Failed
	case relay.Pending:
		sent.State, sent.Task = publish.Pending, cmp.Or(result.Outcome.Task, w.CallID.String())
		sent.Deadline = result.FinishedAt.Add(result.Outcome.ExpiresAfter)
	}
	return sent
}

// menuForPlugin converts a visible menu on a platform to the types of the protocol.
func menuForPlugin(e menu.EffectiveMenu) (*sdk.Menu, error) {
	out := &sdk.Menu{}
	for i := range e.Categories {
		c := &e.Categories[i]
		names, err := localNames(c.Translations)
		if err != nil {
			return nil, err
		}
		out.Categories = append(out.Categories,
			&pb.Category{RefId: c.RefID, Name: c.Name, Description: stringOrEmpty(c.Description),
				SortOrder: c.SortOrder,
				ImgUrl:    stringOrEmpty(c.ImgURL), ParentRefId: c.ParentRefID, Translations: names,
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
