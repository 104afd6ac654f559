// Package callback stores what the requests of aggregators mean. A request with only a
// link waits as a call of the relay, which fetches its content.
package callback

import (
	"context"
	"log/slog"

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

// PlacedOrders finds stored orders by the ids of platforms.
type PlacedOrders interface {
	// StoreOf returns the ref_id of the store of an order, or "" if the hub does not have the order.
	StoreOf(ctx context.Context, business core.BusinessID, platform, platformOrderID string) (string, error)
}

// Intake accepts orders. An order is durable when Place returns.
type Intake interface {
	Place(ctx context.Context, arrival order.PlaceRequest) (order.PlaceResult, error)
}

// Orders changes orders, and records those that the hub did not accept.
type Orders interface {
	PlacedOrders
	Cancel(ctx context.Context, business core.BusinessID, c order.Cancellation) (id int64, from order.State, err error)
	RecordRejected(ctx context.Context, rejected order.Rejection) error
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

// store stores the meaning of a message, which is not a fetch. Storing it again changes nothing. The result describes
// it for people.
func (d Desk) store(ctx context.Context, caller relay.Caller, m relay.Message) (string, error) {
	switch {
	case m.Order != nil:
		return "the order is stored", d.place(ctx, caller, m.Order)
	case m.Cancellation != nil:
		_, _, err := d.Orders.Cancel(ctx, caller.Business, order.Cancellation{Platform: caller.Platform,
			PlatformOrderID: m.Cancellation.PlatformOrderID, Reason: m.Cancellation.Reason})
		return refused("the cancellation is stored", err)
	case m.FollowUp != nil:
		return d.follow(ctx, caller, *m.FollowUp)
	case m.Outcome != nil:
		if m.Outcome.FollowUp != nil {
			if _, err := d.follow(ctx, caller, *m.Outcome.FollowUp); err != nil {
				return "", err
			}
		}
		return refused("the outcome is recorded", d.Actions.Settle(ctx, caller.Business, caller.Platform, *m.Outcome))
	case m.Report != nil:
		return d.settle(ctx, caller, *m.Report)
	case m.Store != nil:
		return ApplyStore(ctx, d.Stores, d.Views, caller, *m.Store)
	}
	return "nothing to do: " + m.Ignored, nil
}

// ApplyStore applies what a platform says about a store. The result describes it for people.
func ApplyStore(ctx context.Context, stores PlatformStores, views PlatformViews, caller relay.Caller,
	m relay.StoreMessage) (string, error) {
	if m.RefID == "" {
		ref, err := stores.StoreRef(ctx, caller.Business, caller.Platform, m.PlatformStoreID)
		if err != nil {
			return "", err
		}
		m.RefID = ref
	}
	if m.Status == nil {
		listed, err := views.RepublishMenu(ctx, caller.Business, m.RefID, caller.Platform)
		if !listed {
			return "nothing to do: the platform does not list the store", err
		}
		return "the hub publishes the menu of the store", err
	}
	m.Status.Platform = caller.Platform
	newer, err := views.ReportStore(ctx, caller.Business, m.RefID, *m.Status)
	if !newer {
		return "nothing to do: the hub knows this report, or a newer one", err
	}
	return "the state of the store is recorded", err
}

// follow applies what a platform sent about an order.
func (d Desk) follow(ctx context.Context, caller relay.Caller, f order.FollowUp) (string, error) {
	result, err := d.FollowUps.Apply(ctx, caller.Business, f)
	return refused(result.Text, err)
}

// settle applies an outcome that a poll or a fetch found.
func (d Desk) settle(ctx context.Context, caller relay.Caller, report outcome.Report) (string, error) {
	if report.Reference == "" && report.StoreRefID == "" {
		ref, err := d.Stores.StoreRef(ctx, caller.Business, caller.Platform, report.PlatformStoreID)
		if err != nil {
			return "", err
		}
		report.StoreRefID = ref
	}
	effect, err := d.Outcomes.Settle(ctx, caller.Business, caller.Platform, report)
	return refused("the outcome is "+string(effect), err)
}

// refused returns the result of a change that the state of an order may refuse. It is not an error then, because no
// order is lost.
func refused(text string, err error) (string, error) {
	if code := core.CodeOf(err); err != nil && (code == core.Conflict || code == core.NotFound) {
		return core.PublicMessage(err), nil
	}
	return text, err
}

// place stores an order. It notifies the platform of an order that names an unknown store.
func (d Desk) place(ctx context.Context, caller relay.Caller, body []byte) error {
	resolved, err := ResolveStore(ctx, d.Stores, d.Orders, caller, body)
	if err == nil {
		err = d.placeResolved(ctx, caller, resolved)
	}
	if core.CodeOf(err) != core.NotFound {
		return err
	}
	if rejection, ok := RejectionOf(body, err); ok {
		if failed := d.Rejections.Reject(ctx, caller, rejection); failed != nil {
			return failed
		}
	}
	return err
}

func (d Desk) placeResolved(ctx context.Context, caller relay.Caller, body []byte) error {
	draft, err := order.Decode(body)
	if err != nil {
		return err
	}
	draft.Platform = caller.Platform
	request := order.PlaceRequest{Business: caller.Business, Actor: "platform:" + caller.Platform, Draft: draft}
	result, err := d.Intake.Place(ctx, request)
	if err != nil || !result.Duplicate {
		return err
	}
	if err := d.Orders.RecordRepeat(ctx, request.Business, result.OrderID, request.Actor, draft); err != nil {
		d.Log.Warn("recording a repeated order failed", "business", request.Business, "order", result.OrderID, "error",
			err)
	}
	return nil
}

// ResolveStore adds the store's ref_id to an order with the aggregator's id of the store. A repeat of a stored order
// has the store of that order if the id is no longer known.
func ResolveStore(ctx context.Context, stores PlatformStores, orders PlacedOrders, caller relay.Caller,
	body []byte) ([]byte, error) {
	var members map[string]jsontext.Value
	var named struct {
		OrderID    core.Identifier `json:"platform_order_id"`
		RefID      string          `json:"store_ref_id"`
		PlatformID string          `json:"platform_store_id"`
	}
	if err := json.Unmarshal(body, &named); err != nil || named.RefID != "" || named.PlatformID == "" {
		return body, nil // order.Decode reports the error
	}
	ref, err := stores.StoreRef(ctx, caller.Business, caller.Platform, named.PlatformID)
	if core.CodeOf(err) == core.NotFound {
		stored, failed := orders.StoreOf(ctx, caller.Business, caller.Platform, string(named.OrderID))
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

// RejectionOf returns what notifies an aggregator that its order is rejected. ok is false for an order without an id.
func RejectionOf(body []byte, reason error) (rejection relay.OrderAcknowledgePayload, ok bool) {
	var named struct {
		OrderID string `json:"platform_order_id"`
		StoreID string `json:"platform_store_id"`
	}
	err := json.Unmarshal(body, &named)
	return relay.OrderAcknowledgePayload{Reason: reason.Error(), PlatformOrderID: named.OrderID,
		PlatformStoreID: named.StoreID}, err == nil && named.OrderID != ""
}
