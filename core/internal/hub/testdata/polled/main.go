// Command polled is a plugin of an aggregator without webhooks.
package main

import (
	"context"
	"net/url"
	"strconv"
	"time"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type plugin struct{}

func main() { sdk.Serve(plugin{}) }

// Describe returns the plugin's description.
func (plugin) Describe(context.Context) (*sdk.Description, error) {
	return &sdk.Description{
		Id: "polled", Version: "1.0.0", DisplayName: "Aggregator without webhooks",
		Endpoints: []*pb.Endpoint{{Name: "api", Hosts: []string{"127.0.0.1"}}},
		Secrets:   []*pb.Secret{{Name: "api_key"}},
		Polls: []*sdk.Poll{{Name: "orders", PeriodSeconds: 60},
			{Name: "jobs", PeriodSeconds: 15, OnlyPending: true},
			{Name: "stores", PeriodSeconds: 3600, PerStore: true}},
		SettingsSchema: []byte(`{"type":"object","examples":[{}]}`),
	}, nil
}

// Render plans a menu that the aggregator accepts as a job.
func (plugin) Render(_ context.Context, _ *sdk.Call, menu *sdk.Menu) (*sdk.Decision, error) {
	return sdk.Send(sdk.JSONPlan("PUT", "api", "/menu", map[string]any{"items": len(menu.GetItems())}))
}

// InterpretPublish waits for the job.
func (plugin) InterpretPublish(_ context.Context, _ *sdk.Call, response *sdk.Response) (*sdk.PublishOutcome, error) {
	var accepted struct{ Job string }
	if err := sdk.ReadJSON("job", response.GetBody(), &accepted); err != nil {
		return nil, err
	}
	return sdk.Pending(accepted.Job, time.Hour), nil
}

// PlanPoll asks for orders since the cursor, for each pending job, or for a store.
func (plugin) PlanPoll(_ context.Context, poll *sdk.PollRequest) (*sdk.Decision, error) {
	switch poll.GetPoll() {
	case "orders":
		return sdk.Send(get("/orders", map[string]string{"after": poll.GetCursor()}))
	case "stores":
		return sdk.Send(get("/stores/"+url.PathEscape(poll.GetStoreRefId()), nil))
	case "jobs":
		plan := &sdk.Plan{}
		for i, task := range poll.GetPending() {
			if i < sdk.LongPlan {
				plan.Steps = append(plan.Steps, sdk.GetStep("job_"+strconv.Itoa(i), "api",
					"/jobs/"+url.PathEscape(task.GetReference())))
			}
		}
		if len(plan.Steps) == 0 {
			return sdk.Skip("no job is pending")
		}
		return sdk.Send(plan)
	}
	return nil, sdk.Refusef("poll %s is unknown", poll.GetPoll())
}

func get(path string, query map[string]string) *sdk.Plan {
	return &sdk.Plan{Endpoint: "api", Method: "GET", Path: path, Query: query,
		SecretHeaders: []*sdk.SecretHeader{{Header: "Authorization", Secret: "api_key", Template: "Bearer {secret}"}}}
}

// order is an order of a list, or a change of one.
type order struct {
	ID, Store, Item, Name, Link string
	Cancelled                   bool
}

// job is the state of a job.
type job struct{ ID, State string }

// InterpretPoll returns each order of a list, or each job.
func (plugin) InterpretPoll(_ context.Context, poll *sdk.PollRequest, response *sdk.Response) (*sdk.PollResult, error) {
	result := &sdk.PollResult{}
	switch poll.GetPoll() {
	case "orders":
		var list struct {
			Orders []order
			Next   string
			More   bool
		}
		if err := sdk.ReadJSON("orders", response.GetBody(), &list); err != nil {
			return nil, err
		}
		for _, o := range list.Orders {
			result.Messages = append(result.Messages, sdk.Polled(o.ID, o))
		}
		result.Cursor, result.More = list.Next, list.More
	case "jobs":
		for _, r := range append(response.GetEarlier(), response) {
			var state job
			if err := sdk.ReadJSON("job", r.GetBody(), &state); err != nil {
				return nil, err
			}
			result.Messages = append(result.Messages, sdk.Polled("", state))
		}
	}
	return result, nil
}

// Translate reads what a poll found.
func (plugin) Translate(_ context.Context, _ *sdk.Call, request *sdk.InboundRequest) (*sdk.Translation, error) {
	if request.GetKind() == "jobs" {
		var state job
		if err := sdk.ReadJSON("job", request.GetBody(), &state); err != nil {
			return nil, err
		}
		if state.ID == "" {
			return nil, sdk.Refusef("job: ID is required")
		}
		outcome := &sdk.ReportedOutcome{Reference: state.ID, State: pb.OutcomeState_OUTCOME_STATE_PENDING}
		if state.State == "done" {
			outcome.State = pb.OutcomeState_OUTCOME_STATE_DONE
		}
		return sdk.Reported(outcome)
	}
	var o order
	if err := sdk.ReadJSON("order", request.GetBody(), &o); err != nil {
		return nil, err
	}
	switch {
	case o.Cancelled:
		return sdk.Cancelled(o.ID, "changed their mind")
	case o.Link != "":
		return sdk.Fetch(get(o.Link, nil), o.ID)
	}
	return placed(o)
}

func placed(o order) (*sdk.Translation, error) {
	if o.ID == "" || o.Store == "" || o.Item == "" {
		return nil, sdk.Refusef("order: id, store and item are required")
	}
	return sdk.Placed(&sdk.NewOrder{PlatformOrderId: o.ID, StoreRefId: o.Store, DeliveryType: "self",
		Customer: &pb.Customer{Name: o.Name}, Items: []*pb.OrderItem{{RefId: o.Item, Quantity: 1}}})
}

// TranslateFetched reads an order that the list only links to.
func (plugin) TranslateFetched(_ context.Context, _ *sdk.Call, _ *sdk.InboundRequest,
	response *sdk.Response) (*sdk.Translation, error) {
	var o order
	if err := sdk.ReadJSON("order", response.GetBody(), &o); err != nil {
		return nil, err
	}
	return placed(o)
}
