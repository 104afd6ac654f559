package order

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestCourierReportsAreChecked(t *testing.T) {
	now := time.UnixMilli(1795262400000)
	for name, row := range map[string]struct {
		report CourierReport
		id     string
		want   string
	}{
		"no order":          {CourierReport{Status: Assigned}, " ", "platform_order_id is required"},
		"nothing":           {CourierReport{}, "A", "status is required without a location"},
		"an unknown status": {CourierReport{Status: "PARKED"}, "A", "status must be one of"},
		"no number":         {CourierReport{Location: &Location{Latitude: "x", Longitude: "1"}}, "A", "decimal number"},
		"out of range": {CourierReport{Location: &Location{Latitude: "91", Longitude: "1"}}, "A",
			"between -90 and 90"},
		"only a location":    {CourierReport{Location: &Location{Latitude: "1.50", Longitude: "-2"}}, "A", ""},
		"a status and rider": {CourierReport{Status: Assigned, Rider: asha}, "A", ""},
	} {
		f := FollowUp{Platform: "b", PlatformOrderID: row.id, Courier: &row.report}
		err := f.Check(now)
		if row.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.Equal(t, core.Invalid, core.CodeOf(err), name)
		require.ErrorContains(t, err, row.want, name)
	}
	for sent, want := range map[int64]int64{0: now.UnixMilli(), now.UnixMilli() + 1: now.UnixMilli(), 7: 7} {
		f := FollowUp{PlatformOrderID: "A", Courier: &CourierReport{
			Location: &Location{Latitude: "1.50", Longitude: "2", At: sent}}}
		require.NoError(t, f.Check(now))
		require.Equal(t, Location{"1.5", "2", want}, *f.Courier.Location)
	}
}

func TestEndedOrdersAreNotReleased(t *testing.T) {
	for _, state := range States() {
		_, err := Released(Subject{OrderID: 1}, state, time.UnixMilli(1795262400000))
		require.Equal(t, state == Completed || state == Cancelled, core.CodeOf(err) == core.Conflict, state)
	}
}

func TestOnlyTheCarrierSetsRiderStatuses(t *testing.T) {
	for mode, want := range map[DeliveryMode][2]core.Code{SelfDelivery: {"", core.Invalid},
		PartnerDelivery: {core.Invalid, ""}, "": {core.Invalid, core.Invalid}} {
		for i, platform := range []string{"", "b"} {
			r := Tracking{State: Placed, DeliveryMode: mode}
			_, _, err := r.AddStatus(RiderUpdate{Status: Assigned, Rider: asha, Platform: platform}, 1)
			require.Equal(t, want[i], core.CodeOf(err), "%s of %q", mode, platform)
		}
		require.Equal(t, want[1] == "", CourierIgnored(mode) == "", mode)
	}
}

func TestPlatformsReplaceTheirCouriersDirectly(t *testing.T) {
	r := Tracking{State: Acknowledged, DeliveryMode: PartnerDelivery}
	add := func(status RiderStatus, rider Rider) (bool, error) {
		changed, _, err := r.AddStatus(RiderUpdate{Status: status, Rider: rider, Platform: "b"}, int64(len(r.History)))
		return changed, err
	}
	for _, step := range []struct {
		status  RiderStatus
		rider   Rider
		changed bool
		now     Delivery
	}{
		{Assigned, asha, true, Delivery{Assigned, asha}},
		{Assigned, asha, false, Delivery{Assigned, asha}},
		{Assigned, ravi, true, Delivery{Assigned, ravi}},
		{AtStore, noRider, true, Delivery{AtStore, ravi}},
		{OutForDelivery, asha, true, Delivery{OutForDelivery, asha}},
		{Assigned, noRider, true, Delivery{Assigned, asha}},
		{Delivered, noRider, true, Delivery{Delivered, asha}},
	} {
		changed, err := add(step.status, step.rider)
		require.NoError(t, err)
		require.Equal(t, step.changed, changed, "%s %v", step.status, step.rider)
		require.Equal(t, step.now, r.History.Delivery())
	}
	_, err := add(AtStore, asha)
	require.Equal(t, core.Conflict, core.CodeOf(err))
}

func TestCourierLocationsEndWithTheDelivery(t *testing.T) {
	r := Tracking{State: Acknowledged, DeliveryMode: PartnerDelivery}
	at := func(ms int64) *Location { return &Location{"1", "2", ms} }
	add := func(status RiderStatus, location *Location) []byte {
		_, event, err := r.AddStatus(RiderUpdate{Status: status, Rider: asha, Platform: "b", Location: location}, 1)
		require.NoError(t, err)
		return event
	}
	require.False(t, r.Locate(*at(1)), "no courier is known")
	require.Contains(t, string(add(Assigned, at(5))), `"location":{"latitude":"1","longitude":"2","at":5}`)
	require.False(t, r.Locate(*at(5)), "not newer")
	require.True(t, r.Locate(*at(6)))
	require.Equal(t, at(6), r.History[0].Location)
	require.NotContains(t, string(add(Unassigned, at(7))), "location", "nobody is there")
	add(Assigned, nil)
	require.NotContains(t, string(add(Delivered, at(8))), "location", "it is the customer's")
	require.False(t, r.Locate(*at(9)))
}
