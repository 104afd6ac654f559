package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/followups"
	intakedb "github.com/servery-hub/servery/core/internal/postgres/intake"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/order"
)

const partnerDelivery = `,"delivery_type":"partner"`

// followUpHarness places orders of the platform b, and sends what it reports about them.
type followUpHarness struct {
	*riderHarness
	store followups.Store
}

func newFollowUpHarness(t *testing.T) *followUpHarness {
	t.Helper()
	d := newRiderHarness(t)
	return &followUpHarness{d, followups.New(d.db, d.riders)}
}

// arrive places an order and returns its id. The store applies the waiting follow-ups.
func (h *followUpHarness) arrive(ref, more string) int64 {
	h.t.Helper()
	intake := intakedb.New(h.db, h.store.ApplyWaiting)
	h.t.Cleanup(intake.Close)
	receipts, failures := pgtest.PlaceBatch(context.Background(), intake, h.arrival(ref, "b", oneCurry, more))
	require.NoError(h.t, failures[0])
	return receipts[0].OrderID
}

func (h *followUpHarness) report(ref string, status order.RiderStatus,
	rider order.Rider) (order.FollowUpResult, error) {
	h.clock.Advance(time.Millisecond)
	return h.store.Apply(context.Background(), h.business, order.FollowUp{Platform: "b", PlatformOrderID: ref,
		Courier: &order.CourierReport{Status: status, Rider: rider}})
}

func (h *followUpHarness) history(id int64) (statuses []order.RiderStatus) {
	h.t.Helper()
	record, err := orders.New(h.db).Get(context.Background(), h.business, "", id)
	require.NoError(h.t, err)
	for _, step := range record.RiderHistory {
		require.Equal(h.t, "platform:b", step.Actor)
		statuses = append(statuses, step.Status)
	}
	return statuses
}

func (h *followUpHarness) notes(id int64) (list []string) {
	h.t.Helper()
	found, err := consolelists.New(h.db).OrderFollowUps(context.Background(), h.business, id)
	require.NoError(h.t, err)
	for _, f := range found {
		list = append(list, f.Kind+": "+f.Note)
	}
	return list
}

func (h *followUpHarness) waiting() (n int) {
	h.t.Helper()
	require.NoError(h.t, h.db.Bun().QueryRowContext(context.Background(),
		`SELECT count(*) FROM pending_follow_ups`).Scan(&n))
	return n
}

func TestCourierReportsWaitForTheirOrder(t *testing.T) {
	h := newFollowUpHarness(t)
	asha := order.Rider{Name: "Asha", Phone: "4155550100"}
	for _, status := range []order.RiderStatus{order.Assigned, order.AtStore, order.AtStore} {
		result, err := h.report("W-1", status, asha)
		require.NoError(t, err)
		require.Zero(t, result.OrderID)
		require.Contains(t, result.Text, "is applied when it arrives")
	}
	require.Equal(t, 2, h.waiting(), "a repeat is stored once")
	id := h.arrive("W-1", partnerDelivery)
	require.Equal(t, []order.RiderStatus{order.Assigned, order.AtStore}, h.history(id))
	require.Zero(t, h.waiting())
	require.Len(t, pgtest.EventBodies(t, h.db, core.RiderStatusUpdate), 2)
	result, err := h.report("W-1", order.AtStore, asha)
	require.NoError(t, err)
	require.Equal(t, order.FollowUpResult{OrderID: id, Text: "the courier's state is known already, nothing changed"},
		result)
	counts := pgtest.RiderCounts(t, h.db)
	require.Equal(t, []int{2, 1}, counts[:2], "the only call is the acknowledgement: nothing returns to the platform")

	other, err := h.report("W-1", order.Delivered, asha)
	require.NoError(t, err)
	require.Equal(t, id, other.OrderID)
	_, err = h.report("W-1", order.AtStore, asha)
	require.Equal(t, core.Conflict, core.CodeOf(err))
}

func TestCourierMayHaveTheSameStateAgain(t *testing.T) {
	h := newFollowUpHarness(t)
	asha := order.Rider{Name: "Asha", Phone: "4155550100"}
	sent := []order.RiderStatus{order.Assigned, order.Unassigned, order.Assigned}
	for _, status := range sent {
		for range 2 { // each report is repeated
			_, err := h.report("A-1", status, asha)
			require.NoError(t, err)
		}
	}
	require.Equal(t, 3, h.waiting())
	for range 2 {
		_, err := h.change("A-1", "c-1", oneCurry)
		require.NoError(t, err)
		_, err = h.release("A-1")
		require.NoError(t, err)
	}
	require.Equal(t, 5, h.waiting(), "a release and a change wait once")
	require.Equal(t, sent, h.history(h.arrive("A-1", partnerDelivery)))
}

func TestCourierOfMerchantDeliveryIsIgnoredWithReason(t *testing.T) {
	h := newFollowUpHarness(t)
	_, err := h.report("M-1", order.Assigned, order.Rider{})
	require.NoError(t, err)
	id := h.arrive("M-1", `,"delivery_type":"self"`)
	require.Empty(t, h.history(id))
	result, err := h.report("M-1", order.AtStore, order.Rider{})
	require.NoError(t, err)
	require.Equal(t, "nothing to do: the merchant delivers the order: its delivery_type is self", result.Text)
	require.Equal(t, []string{"courier: the merchant delivers the order: its delivery_type is self"}, h.notes(id))
}

func TestWaitingFollowUpsAreBoundedAndExpire(t *testing.T) {
	h := newFollowUpHarness(t)
	for i := range 50 {
		_, err := h.report("B-1", order.AtStore, order.Rider{Name: fmt.Sprint("R", i)})
		require.NoError(t, err)
	}
	_, err := h.report("B-1", order.Delivered, order.Rider{})
	require.Equal(t, core.Conflict, core.CodeOf(err))
	require.NoError(t, h.store.Sweep(t.Context()))
	require.Equal(t, 50, h.waiting())
	h.clock.Advance(25 * time.Hour)
	require.NoError(t, h.store.Sweep(t.Context()))
	require.Zero(t, h.waiting())
}

func TestSweepAppliesWhatWasMissed(t *testing.T) {
	h := newFollowUpHarness(t)
	for _, status := range []order.RiderStatus{order.Assigned, order.Delivered, order.AtStore} {
		_, err := h.report("S-1", status, order.Rider{})
		require.NoError(t, err)
	}
	receipts, failures := pgtest.PlaceBatch(t.Context(), newIntake(t, h.db), // which applies nothing
		h.arrival("S-1", "b", oneCurry, partnerDelivery))
	require.NoError(t, failures[0])
	require.NoError(t, h.store.Sweep(t.Context()))
	require.Equal(t, []order.RiderStatus{order.Assigned, order.Delivered}, h.history(receipts[0].OrderID))
	require.Equal(t, []string{"courier: the order is already DELIVERED, so its rider has no further status"},
		h.notes(receipts[0].OrderID))
	require.Zero(t, h.waiting())
}

func (h *followUpHarness) release(ref string) (order.FollowUpResult, error) {
	return h.store.Apply(context.Background(), h.business,
		order.FollowUp{Platform: "b", PlatformOrderID: ref, Release: &order.Release{}})
}

func TestReleaseIsPublishedOnceForEachOrder(t *testing.T) {
	h := newFollowUpHarness(t)
	early, err := h.release("K-1")
	require.NoError(t, err)
	require.Zero(t, early.OrderID)
	id := h.arrive("K-1", partnerDelivery)
	events := pgtest.EventBodies(t, h.db, core.OrderReleased)
	require.Len(t, events, 1)
	eventtest.Check(t, core.OrderReleased, events[0])
	again, err := h.release("K-1")
	require.NoError(t, err)
	require.Equal(t, order.FollowUpResult{OrderID: id, Text: "the order was released before, nothing changed"}, again)
	require.Len(t, pgtest.EventBodies(t, h.db, core.OrderReleased), 1)
	require.Equal(t, []string{"release: "}, h.notes(id))

	ended := h.arrive("K-2", partnerDelivery)
	_, err = orders.New(h.db).Change(t.Context(), h.business, ended, order.Change{To: order.Completed})
	require.NoError(t, err)
	_, err = h.release("K-2")
	require.Equal(t, core.Conflict, core.CodeOf(err))
	require.Empty(t, h.notes(ended))
}

func (h *followUpHarness) change(ref, change, items string) (order.FollowUpResult, error) {
	return h.changeWith(ref, change, items, "")
}

// changeWith changes an order, which has more fields than its items.
func (h *followUpHarness) changeWith(ref, change, items, more string) (order.FollowUpResult, error) {
	h.clock.Advance(time.Millisecond)
	return h.store.Apply(context.Background(), h.business, order.FollowUp{Platform: "b", PlatformOrderID: ref,
		Update: &order.Update{ChangeID: change, Order: []byte(fmt.Sprintf(
			`{"platform":"b","platform_order_id":%q,"store_ref_id":"-","items":[%s]%s}`, ref, items, more))}})
}

func TestChangesOfAnOrderAreBoundedAndRepeatable(t *testing.T) {
	h := newFollowUpHarness(t)
	h.arrive("U-1", partnerDelivery)
	for i := range 100 {
		_, err := h.change("U-1", fmt.Sprint("c-", i), fmt.Sprintf(`{"ref_id":"curry","price":1,"quantity":%d}`, i+1))
		require.NoError(t, err)
	}
	_, err := h.change("U-1", "c-100", `{"ref_id":"curry","price":1,"quantity":1}`)
	require.Equal(t, core.Conflict, core.CodeOf(err))
	again, err := h.change("U-1", "c-5", `{"ref_id":"curry","price":1,"quantity":1}`)
	require.NoError(t, err)
	require.Contains(t, again.Text, "nothing changed")
	require.Len(t, pgtest.EventBodies(t, h.db, core.OrderUpdated), 100)
}

func TestRejectedChangeIsRecordedAndTriedAgain(t *testing.T) {
	h := newFollowUpHarness(t)
	id := h.arrive("U-2", partnerDelivery)
	unpriced := `{"ref_id":"unknown","quantity":1}`
	_, err := h.change("U-2", "c-1", unpriced)
	require.Equal(t, core.Invalid, core.CodeOf(err), err)
	revisions, err := consolelists.New(h.db).OrderRevisions(t.Context(), h.business, id)
	require.NoError(t, err)
	require.Len(t, revisions, 1)
	require.Contains(t, revisions[0].Note, "price")
	require.Empty(t, pgtest.EventBodies(t, h.db, core.OrderUpdated))
	_, err = h.change("U-2", "c-1", `{"ref_id":"unknown","price":4,"quantity":1}`)
	require.NoError(t, err)
	revisions, err = consolelists.New(h.db).OrderRevisions(t.Context(), h.business, id)
	require.NoError(t, err)
	require.Len(t, revisions, 1)
	require.Empty(t, revisions[0].Note)
	require.Contains(t, string(revisions[0].Body), "unknown")
}
