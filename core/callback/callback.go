// Package callback stores what the requests of aggregators mean. A request with only a
// link waits as a call of the relay, which fetches its content.
package callback

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/outcome"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/store"
)

// PlatformStores finds stores by the ids of platforms.
type PlatformStores interface {
	StoreRef(ctx context.Context, business core.BusinessID, platform, platformStoreID string) (string, error)
}

// Intake accepts orders. An order is durable when Place returns.
type Intake interface {
	Place(ctx context.Context, request order.PlaceRequest) (order.PlaceResult, error)
}

// Orders changes orders, and records those that the hub did not accept.
type Orders interface {
	// StoreOf returns the ref_id of the store of a platform's order, or "" if the hub does not have the order.
	StoreOf(ctx context.Context, business core.BusinessID, platform, platformOrderID string) (string, error)
	Cancel(ctx context.Context, business core.BusinessID, c order.Cancellation) (id int64, from order.State, err error)
	RecordRejected(ctx context.Context, rejected order.Rejection) error
	// RecordRepeat records a repeat of an order, if its content differs.
	RecordRepeat(ctx context.Context, business core.BusinessID, id int64, actor string, again order.Draft) error
}

// FollowUps applies what platforms send about their orders beside the orders themselves.
type FollowUps interface {
	Apply(ctx context.Context, business core.BusinessID, f order.FollowUp) (order.FollowUpResult, error)
}

// Actions records the outcomes of feature actions.
type Actions interface {
	Settle(ctx context.Context, business core.BusinessID, platform string, outcome relay.Outcome) error
}

// Outcomes applies the outcomes that aggregators report after their response.
type Outcomes interface {
	Settle(ctx context.Context, business core.BusinessID, platform string, r outcome.Report) (outcome.Effect, error)
}

// PlatformViews applies what platforms say about stores.
type PlatformViews interface {
	// ReportStore stores the state of a store on a platform, and publishes an event if it changed. It reports whether
	// the report is newer than the stored one.
	ReportStore(ctx context.Context, business core.BusinessID, storeRef string, status store.PlatformStatus) (bool,
		error)
	// RepublishMenu publishes the menu of a store on a platform, even if it has not changed. It reports whether the
	// platform lists the store.
	RepublishMenu(ctx context.Context, business core.BusinessID, storeRef, platform string) (bool, error)
}

// Rejections notifies platforms of rejected orders.
type Rejections interface {
	Reject(ctx context.Context, caller relay.Caller, rejection relay.OrderAcknowledgePayload) error
}

// Desk stores what requests of aggregators mean. Everything is durable when its methods return.
type Desk struct {
	Intake     Intake
	Orders     Orders
	FollowUps  FollowUps
	Actions    Actions
	Outcomes   Outcomes
	Stores     PlatformStores
	Views      PlatformViews
	Rejections Rejections
	Log        *slog.Logger
}

// Result is what a message changed.
type Result struct {
	OrderID int64  // the order that it concerns; 0: none, or one that is unknown so far
	Text    string // for people
}

// Apply stores the meaning of a message, which is not a fetch. Storing it again changes nothing.
func (d Desk) Apply(ctx context.Context, caller relay.Caller, m relay.Message) (r Result, err error) {
	switch {
	case m.Order != nil:
		return d.placeOrder(ctx, caller, m.Order)
	case m.Cancellation != nil:
		return d.cancel(ctx, caller, order.Cancellation{Platform: caller.Platform,
			PlatformOrderID: m.Cancellation.PlatformOrderID, Reason: m.Cancellation.Reason})
	case m.FollowUp != nil:
		result, err := d.FollowUps.Apply(ctx, caller.Business, *m.FollowUp)
		return Result(result), err
	case m.Outcome != nil:
		r.Text = outcome.Settled.Text()
		if m.Outcome.FollowUp != nil {
			_, err = d.FollowUps.Apply(ctx, caller.Business, *m.Outcome.FollowUp)
			if err != nil && !impossible(err) {
				return r, err
			}
		}
		return r, d.Actions.Settle(ctx, caller.Business, caller.Platform, *m.Outcome)
	case m.Report != nil:
		return d.settle(ctx, caller, *m.Report)
	case m.Store != nil:
		r.Text, err = d.applyStore(ctx, caller, *m.Store)
		return r, err
	}
	return Result{Text: "nothing to do: " + m.Ignored}, nil
}

// impossible reports whether an error means that a change does not fit to the state of its order, or of what else it
// concerns. A repeat has the same error.
func impossible(err error) bool {
	return slices.Contains([]core.Code{core.Conflict, core.NotFound}, core.CodeOf(err))
}

// cancel cancels an order. The order may arrive after its cancellation.
func (d Desk) cancel(ctx context.Context, caller relay.Caller, c order.Cancellation) (Result, error) {
	id, from, err := d.Orders.Cancel(ctx, caller.Business, c)
	if id == 0 {
		return Result{Text: "the order is unknown so far, and is cancelled when it arrives"}, err
	}
	return Result{id, order.Change{To: order.Cancelled}.Result(from)}, err
}

// applyStore applies what a platform says about a store. The result describes it for people.
func (d Desk) applyStore(ctx context.Context, caller relay.Caller, m relay.StoreMessage) (string, error) {
	if m.RefID == "" {
		ref, err := d.Stores.StoreRef(ctx, caller.Business, caller.Platform, m.PlatformStoreID)
		if err != nil {
			return "", err
		}
		m.RefID = ref
	}
	if m.Status == nil {
		listed, err := d.Views.RepublishMenu(ctx, caller.Business, m.RefID, caller.Platform)
		if !listed {
			return "nothing to do: the platform does not list the store", err
		}
		return "the hub publishes the menu of the store", err
	}
	m.Status.Platform = caller.Platform
	newer, err := d.Views.ReportStore(ctx, caller.Business, m.RefID, *m.Status)
	if !newer {
		return "nothing to do: the hub knows this report, or a newer one", err
	}
	return "the state of the store is recorded", err
}

// settle applies an outcome that an aggregator reports after its response.
func (d Desk) settle(ctx context.Context, caller relay.Caller, report outcome.Report) (Result, error) {
	report, err := d.withStore(ctx, caller, report)
	if err != nil {
		return Result{}, err
	}
	effect, err := d.Outcomes.Settle(ctx, caller.Business, caller.Platform, report)
	return Result{Text: effect.Text()}, err
}

// withStore adds the store's ref_id to a report without a reference.
func (d Desk) withStore(ctx context.Context, caller relay.Caller, r outcome.Report) (_ outcome.Report, err error) {
	if r.Reference == "" && r.StoreRefID == "" {
		r.StoreRefID, err = d.Stores.StoreRef(ctx, caller.Business, caller.Platform, r.PlatformStoreID)
	}
	return r, err
}

// placeOrder stores an order. It notifies the platform of an order that names an unknown store.
func (d Desk) placeOrder(ctx context.Context, caller relay.Caller, body []byte) (Result, error) {
	result, err := d.placeBody(ctx, caller, body)
	if core.CodeOf(err) != core.NotFound {
		return Result{result.OrderID, result.Text()}, err
	}
	if rejection, ok := rejectionOf(body, err); ok {
		d.Log.Warn("order rejected", "business", caller.Business, "platform", caller.Platform, "platform_order_id",
			core.ClipLogged(rejection.PlatformOrderID), "reason", err)
		if failed := d.Rejections.Reject(ctx, caller, rejection); failed != nil {
			return Result{}, failed
		}
	}
	return Result{}, err
}

func (d Desk) placeBody(ctx context.Context, caller relay.Caller, body []byte) (none order.PlaceResult, err error) {
	resolved, err := d.resolveStore(ctx, caller, body)
	if err != nil {
		return none, err
	}
	draft, err := order.Decode(resolved)
	if err != nil {
		return none, err
	}
	draft.Platform = caller.Platform
	request := order.PlaceRequest{Business: caller.Business, Actor: "platform:" + caller.Platform, Draft: draft}
	return d.Place(ctx, request)
}

// repeatTimeout bounds the wait for the record of a repeated order, because its sender waits too.
const repeatTimeout = 2 * time.Second

// Place stores an order. If the hub already has the order with other content, it records the difference.
func (d Desk) Place(ctx context.Context, request order.PlaceRequest) (order.PlaceResult, error) {
	result, err := d.Intake.Place(ctx, request)
	if err != nil || !result.Duplicate {
		return result, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), repeatTimeout)
	defer cancel()
	if err := d.Orders.RecordRepeat(ctx, request.Business, result.OrderID, request.Actor, request.Draft); err != nil {
		d.Log.Warn("recording a repeated order failed", "business", request.Business, "order", result.OrderID, "error",
			err)
	}
	return result, nil
}

// resolveStore adds the store's ref_id to an order with the aggregator's id of the store. A repeat of a stored order
// has the store of that order if the id is no longer known.
func (d Desk) resolveStore(ctx context.Context, caller relay.Caller, body []byte) ([]byte, error) {
	var members map[string]jsontext.Value
	var named struct {
		OrderID    core.Identifier `json:"platform_order_id"`
		RefID      string          `json:"store_ref_id"`
		PlatformID string          `json:"platform_store_id"`
	}
	if err := json.Unmarshal(body, &named); err != nil || named.RefID != "" || named.PlatformID == "" {
		return body, nil // order.Decode reports the error
	}
	ref, err := d.Stores.StoreRef(ctx, caller.Business, caller.Platform, named.PlatformID)
	if core.CodeOf(err) == core.NotFound {
		stored, failed := d.Orders.StoreOf(ctx, caller.Business, caller.Platform, string(named.OrderID))
		switch {
		case failed != nil: // the aggregator resends the order
			err = failed
		case stored != "":
			ref, err = stored, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, err
	}
	if members["store_ref_id"], err = json.Marshal(ref); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}

// rejectionOf returns what notifies an aggregator that its order is rejected. An order without an id is not ok, nor one
// with an id that no order can have.
func rejectionOf(body []byte, reason error) (rejection relay.OrderAcknowledgePayload, ok bool) {
	var named struct {
		OrderID string `json:"platform_order_id"`
		StoreID string `json:"platform_store_id"`
	}
	err := json.Unmarshal(body, &named)
	return relay.OrderAcknowledgePayload{Reason: reason.Error(), PlatformOrderID: named.OrderID,
			PlatformStoreID: named.StoreID}, err == nil && named.OrderID != "" &&
			order.CleanID(named.OrderID) == strings.TrimSpace(named.OrderID)
}
