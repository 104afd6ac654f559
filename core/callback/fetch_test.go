package callback

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/outcome"
	"github.com/servery-hub/servery/core/relay"
)

// desk records what reaches the stores, and fails as it is set.
type desk struct {
	relay.Queue
	message              relay.Message
	readErr, placeErr    error
	cancelErr, settleErr error
	followErr, knownErr  error
	placed, finished     []string
	rejected             []order.Rejection
	notified             []string
}

func (d *desk) Request(relay.Call) (relay.InboundRequest, error) { return relay.InboundRequest{}, nil }
func (d *desk) Add(context.Context, relay.InboundRequest, string) error {
	return nil
}

func (d *desk) PlanFetch(context.Context, relay.Call, relay.InboundRequest) (relay.Message, error) {
	return d.message, d.readErr
}

func (d *desk) ReadFetched(context.Context, relay.Call, relay.InboundRequest, relay.Response) (relay.Message, error) {
	return d.message, d.readErr
}

func (d *desk) Place(_ context.Context, r order.PlaceRequest) (order.PlaceResult, error) {
	d.placed = append(d.placed, r.Draft.Platform+" "+string(r.Draft.PlatformOrderID)+" "+r.Actor)
	return order.PlaceResult{OrderID: 7, Duplicate: len(d.placed) > 1}, d.placeErr
}

func (d *desk) Cancel(context.Context, core.BusinessID, order.Cancellation) (int64, order.State, error) {
	return 0, "", d.cancelErr
}

func (d *desk) Apply(_ context.Context, _ core.BusinessID, f order.FollowUp) (order.FollowUpResult, error) {
	return order.FollowUpResult{OrderID: 7, Text: "applied " + f.PlatformOrderID}, d.followErr
}

func (d *desk) RecordRejected(_ context.Context, r order.Rejection) error {
	d.rejected = append(d.rejected, r)
	return nil
}

func (d *desk) RecordRepeat(context.Context, core.BusinessID, int64, string, order.Draft) error {
	return errors.New("not recorded")
}

func (d *desk) Settle(context.Context, core.BusinessID, string, relay.Outcome) error {
	return d.settleErr
}

func (d *desk) StoreRef(_ context.Context, _ core.BusinessID, _, id string) (string, error) {
	if id == "there" {
		return "s1", nil
	}
	return "", core.Errorf(core.NotFound, "no store %s", id)
}

// StoreOf knows the order L-2 alone.
func (d *desk) StoreOf(_ context.Context, _ core.BusinessID, _, id string) (string, error) {
	if id == "L-2" {
		return "s1", d.knownErr
	}
	return "", d.knownErr
}

func (d *desk) Reject(_ context.Context, _ relay.Caller, r relay.OrderAcknowledgePayload) error {
	d.notified = append(d.notified, r.PlatformOrderID)
	return nil
}

func (d *desk) Finish(_ context.Context, _ core.ID, results []relay.Result) error {
	for _, r := range results {
		d.finished = append(d.finished, string(r.State))
		if r.Attempt != nil {
			d.finished = append(d.finished, string(r.Attempt.ResponseBody))
		}
		for _, step := range r.Earlier {
			d.finished = append(d.finished, string(step.ResponseBody))
		}
	}
	return nil
}

func (d *desk) fetches() Fetches {
	return Fetches{Translator: d, Requests: d,
		Desk: Desk{Intake: d, Orders: d, FollowUps: d, Actions: d,
			Stores: d, Rejections: d, Log: slog.New(slog.DiscardHandler)}}
}

var fetch = relay.Call{Business: 1, Platform: "linked", Kind: relay.InboundFetch,
	Payload: []byte(`{"platform_order_id":"L-1"}`)}

func TestFetchedMessageIsStoredOrRetried(t *testing.T) {
	placed := []byte(`{"platform":"x","platform_order_id":"L-1","platform_store_id":"there","items":[{"ref_id":"a",` +
		`"quantity":1}]}`)
	unavailable, conflict := core.Errorf(core.Unavailable, "full"), core.Errorf(core.Conflict, "it is completed")
	for name, row := range map[string]struct {
		desk    desk
		state   relay.OutcomeState
		message string
	}{
		"an order": {desk{message: relay.Message{Order: placed}}, relay.OutcomeDone, "order accepted"},
		"a repeat": {desk{message: relay.Message{Order: placed}, placed: []string{"earlier"}}, relay.OutcomeDone,
			"the order already exists and was not changed"},
		"a full hub": {desk{message: relay.Message{Order: placed}, placeErr: unavailable}, relay.OutcomeRetry,
			"storing the fetched content failed: full"},
		"an unreadable order": {desk{message: relay.Message{Order: []byte(`{"platform_order_id":"L-1"}`)}},
			relay.OutcomeFailed, "is required"},
		"an unknown store": {desk{message: relay.Message{
			Order: []byte(`{"platform_order_id":"L-1","platform_store_id":"gone"}`)}}, relay.OutcomeFailed,
			"no store gone"},
		"an unknown store of an order that may be stored": {desk{message: relay.Message{
			Order: []byte(`{"platform_order_id":"L-1","platform_store_id":"gone"}`)}, knownErr: unavailable},
			relay.OutcomeRetry, "storing the fetched content failed: full"},
		"a rejected response": {desk{readErr: core.Errorf(core.Invalid, "no order")}, relay.OutcomeFailed, "no order"},
		"a crashed plugin": {desk{readErr: core.Errorf(core.Internal, "crashed")}, relay.OutcomeRetry,
			"storing the fetched content failed: crashed"},
		"a cancellation": {desk{message: relay.Message{Cancellation: &relay.Cancellation{PlatformOrderID: "L-1"}}},
			relay.OutcomeDone, "the order is unknown so far"},
		"a late cancellation": {desk{message: relay.Message{Cancellation: &relay.Cancellation{PlatformOrderID: "L-1"}},
			cancelErr: conflict}, relay.OutcomeDone, "it is completed"},
		"a courier": {desk{message: relay.Message{FollowUp: &order.FollowUp{PlatformOrderID: "L-1"}}},
			relay.OutcomeDone, "applied L-1"},
		"a late courier": {desk{message: relay.Message{FollowUp: &order.FollowUp{}}, followErr: conflict},
			relay.OutcomeDone, "it is completed"},
		"a courier in a full hub": {desk{message: relay.Message{FollowUp: &order.FollowUp{}}, followErr: unavailable},
			relay.OutcomeRetry, "storing the fetched content failed: full"},
		"an outcome": {desk{message: relay.Message{Outcome: &relay.Outcome{}}}, relay.OutcomeDone,
			"outcome recorded"},
		"an outcome of an unknown order": {desk{message: relay.Message{Outcome: &relay.Outcome{
			FollowUp: &order.FollowUp{}}}, followErr: core.Errorf(core.NotFound, "no order")}, relay.OutcomeDone,
			"outcome recorded"},
		"a report of an unknown store": {desk{message: relay.Message{Report: &outcome.Report{}}}, relay.OutcomeFailed,
			"no store"},
		"an ignored response": {desk{message: relay.Message{Ignored: "a ping"}}, relay.OutcomeDone,
			"nothing to do: a ping"},
	} {
		result, err := row.desk.fetches().Interpret(t.Context(), fetch, nil, relay.Response{})
		require.NoError(t, err, name)
		require.Equal(t, row.state, result.State, name)
		require.Contains(t, result.Message, row.message, name)
		if row.desk.placed != nil {
			require.Equal(t, "linked L-1 platform:linked", row.desk.placed[len(row.desk.placed)-1], name)
		}
		require.Equal(t, name == "an unknown store", len(row.desk.notified) == 1, name)
	}
}

func TestRepeatedOrderNeedsNoStoreMapping(t *testing.T) {
	d := &desk{message: relay.Message{Order: []byte(`{"platform":"x","platform_order_id":"L-2",` +
		`"platform_store_id":"gone","items":[{"ref_id":"a","quantity":1}]}`)}}
	outcome, err := d.fetches().Interpret(t.Context(), fetch, nil, relay.Response{})
	require.NoError(t, err)
	require.Equal(t, relay.OutcomeDone, outcome.State, outcome.Message)
	require.Equal(t, []string{"linked L-2 platform:linked"}, d.placed)
	require.Empty(t, d.notified)
}

func TestOrderWithoutAUsableIDNotifiesNobody(t *testing.T) {
	for id, notified := range map[string][]string{"L-1": {"L-1"}, " L-1": {" L-1"}, "": nil,
		strings.Repeat("x", 3000): nil} {
		d := &desk{}
		_, err := d.fetches().Desk.Apply(t.Context(), relay.Caller{Business: 1, Platform: "linked"},
			relay.Message{Order: []byte(`{"platform_order_id":"` + id + `","platform_store_id":"gone"}`)})
		require.Equal(t, core.NotFound, core.CodeOf(err))
		require.Equal(t, notified, d.notified)
	}
}

func TestLostFetchesAreRejectedOrders(t *testing.T) {
	d := &desk{}
	direct, err := (&desk{message: relay.Message{Ignored: "a ping"}}).fetches().Plan(t.Context(), fetch, nil)
	require.NoError(t, err)
	polled := fetch
	polled.Payload = []byte(`{"poll":"news"}`)
	attempt := func(body string) *relay.Attempt { return &relay.Attempt{ResponseBody: []byte(body)} }
	refused := relay.Outcome{State: relay.OutcomeFailed, PlatformOrderID: "L-2"}
	require.NoError(t, Queue{Queue: d, Orders: d}.Finish(t.Context(), core.ID{}, []relay.Result{
		{Call: fetch, State: relay.Done, Attempt: attempt("the order"), Earlier: []relay.Attempt{*attempt("a step")}},
		{Call: fetch, State: relay.Waiting, Attempt: attempt("down"), Message: "status 500"},
		{Call: fetch, State: relay.Failed, Message: "status 500"},
		{Call: fetch, State: relay.Failed, Message: "no item", Outcome: refused},
		{Call: fetch, State: relay.Skipped, Message: "the platform has no plugin"},
		{Call: fetch, State: relay.Done, Message: direct.Done},
		{Call: polled, State: relay.Failed, Message: "no item"},
		{Call: relay.Call{Kind: relay.OrderStatus}, State: relay.Failed, Attempt: attempt("no")},
	}))
	require.Equal(t, []string{"done", "", "", "waiting", "down", "failed", "failed", "skipped", "done", "failed",
		"failed", "no"},
		d.finished)
	rejection := order.Rejection{Business: 1, Platform: "linked", PlatformOrderID: "L-1",
		Reason: "fetching the order failed: status 500", HubFault: true}
	again, unread := rejection, rejection
	unread.PlatformOrderID, unread.Reason, unread.HubFault = "L-2", "fetching the order failed: no item", false
	again.Reason = "fetching the order failed: the platform has no plugin"
	require.Equal(t, []order.Rejection{rejection, unread, again}, d.rejected)
}
