package order

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
)

var (
	noRider = Rider{}
	asha    = Rider{"Asha", "5550100"}
	ravi    = Rider{"Ravi", "5550199"}
)

func TestRiderStatusTransitionsFollowTheRules(t *testing.T) {
	for _, c := range []struct {
		name    string
		from    Delivery
		to      RiderStatus
		rider   Rider
		next    Delivery
		changed bool
		code    core.Code
	}{
		{"the first status", Delivery{}, Assigned, asha, Delivery{Assigned, asha}, true, ""},
		{"any status may be the first", Delivery{}, NoRiderFound, noRider, Delivery{NoRiderFound, noRider}, true, ""},
		{"a repeat", Delivery{Assigned, asha}, Assigned, asha, Delivery{Assigned, asha}, false, ""},
		{"a repeat without the rider", Delivery{Assigned, asha}, Assigned, noRider, Delivery{Assigned, asha},
			false, ""},
		{"the same number with another name", Delivery{Assigned, asha}, Assigned, Rider{"A. Rao", "5550100"},
			Delivery{Assigned, asha}, false, ""},
		{"a rider named later", Delivery{Assigned, noRider}, Assigned, asha, Delivery{Assigned, asha}, true,
			""},
		{"a number sent later", Delivery{Assigned, Rider{Name: "Asha"}}, AtStore, asha, Delivery{AtStore, asha},
			true, ""},
		{"another rider", Delivery{Assigned, asha}, Assigned, ravi, Delivery{Assigned, asha}, false, core.Invalid},
		{"another name, no number known", Delivery{Assigned, Rider{Name: "Asha"}}, Assigned, ravi,
			Delivery{Assigned, Rider{Name: "Asha"}}, false, core.Invalid},
		{"another rider on the way", Delivery{OutForDelivery, asha}, Assigned, ravi, Delivery{OutForDelivery, asha},
			false, core.Invalid},
		{"another rider with another status", Delivery{Assigned, asha}, AtStore, ravi, Delivery{AtStore, asha}, true,
			""},
		{"a country code before the number", Delivery{Assigned, Rider{"Asha", "9876543210"}}, Assigned,
			Rider{"Asha", "+91 98765-43210"}, Delivery{Assigned, Rider{"Asha", "9876543210"}}, false, ""},
		{"a short number within a long one", Delivery{Assigned, Rider{"Asha", "9876543210"}}, Assigned,
			Rider{"Asha", "543210"}, Delivery{Assigned, Rider{"Asha", "9876543210"}}, false, core.Invalid},
		{"numbers without digits", Delivery{Assigned, Rider{"Asha", "none"}}, Assigned, Rider{"Asha", "unknown"},
			Delivery{Assigned, Rider{"Asha", "none"}}, false, core.Invalid},
		{"no rider found after one was", Delivery{Assigned, asha}, NoRiderFound, asha, Delivery{NoRiderFound, noRider},
			true,
			""},
		{"no rider found, repeated", Delivery{NoRiderFound, noRider}, NoRiderFound, asha,
			Delivery{NoRiderFound, noRider}, false, ""},
		{"another rider after NO-RIDER-FOUND", Delivery{NoRiderFound, noRider}, Assigned, ravi,
			Delivery{Assigned, ravi}, true, ""},
		{"unassigned", Delivery{Assigned, asha}, Unassigned, noRider, Delivery{Unassigned, noRider}, true, ""},
		{"unassigned with another name", Delivery{Assigned, asha}, Unassigned, ravi, Delivery{Unassigned, noRider},
			true,
			""},
		{"another rider after UNASSIGNED", Delivery{Unassigned, noRider}, Assigned, ravi, Delivery{Assigned, ravi},
			true,
			""},
		{"backwards", Delivery{OutForDelivery, asha}, AtStore, noRider, Delivery{AtStore, asha}, true, ""},
		{"delivered again", Delivery{Delivered, asha}, Delivered, asha, Delivery{Delivered, asha}, false, ""},
		{"delivered by another", Delivery{Delivered, asha}, Delivered, ravi, Delivery{Delivered, asha}, false, ""},
		{"delivered again with new data", Delivery{Delivered, noRider}, Delivered, asha, Delivery{Delivered, noRider},
			false, ""},
		{"after the end", Delivery{Delivered, asha}, Unassigned, noRider, Delivery{Delivered, asha}, false,
			core.Conflict},
	} {
		t.Run(c.name, func(t *testing.T) {
			next, changed, err := c.from.Move(c.to, c.rider)
			require.Equal(t, c.code, core.CodeOf(err))
			require.Equal(t, c.changed, changed)
			require.Equal(t, c.next, next)
		})
	}
}

// An accepted history has no repeat and no status after DELIVERED. Between two riders it has UNASSIGNED or
// NO-RIDER-FOUND.
func TestRandomRiderUpdatesKeepTheHistoryValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tracking := Tracking{Subject: Subject{OrderID: 7, Platform: "b", PlatformOrderID: "B-7", StoreRefID: "s1"},
			StoreID: 3, DeliveryMode: SelfDelivery}
		for n := range rapid.IntRange(1, 30).Draw(t, "updates") {
			before := len(tracking.History)
			update := RiderUpdate{OrderID: 7, Actor: "key:pos",
				Status: rapid.SampledFrom(RiderStatuses()).Draw(t, "status"),
				Rider:  rapid.SampledFrom([]Rider{noRider, asha, ravi}).Draw(t, "rider")}
			changed, body, err := tracking.AddStatus(update, int64(1_700_000_000_000+n))
			if err != nil || !changed {
				require.Len(t, tracking.History, before, "a rejected or repeated status is not stored")
				require.Nil(t, body)
				continue
			}
			require.Len(t, tracking.History, before+1)
			require.Equal(t, update.Status, tracking.History[before].Status)
			var event struct {
				Delivery struct {
					Updates []struct{ Status RiderStatus } `json:"status_updates"`
				} `json:"delivery_info"`
			}
			require.NoError(t, json.Unmarshal(body, &event))
			require.Len(t, event.Delivery.Updates, before+1)
		}
		assigned := noRider
		for i, step := range tracking.History {
			require.False(t, i > 0 && tracking.History[i-1].Status == Delivered, "nothing follows DELIVERED")
			require.False(t, i > 0 && tracking.History[i-1].Status == step.Status &&
				tracking.History[i-1].Rider == step.Rider, "a repeat is not stored")
			if step.Status == Unassigned || step.Status == NoRiderFound {
				require.Equal(t, noRider, step.Rider, "%s names no rider", step.Status)
				assigned = noRider
				continue
			}
			require.True(t, assigned == noRider || assigned == step.Rider,
				"riders are unassigned before another is assigned")
			assigned = step.Rider
		}
	})
}

func TestCancelledOrderAcceptsNoRider(t *testing.T) {
	tracking := Tracking{DeliveryMode: SelfDelivery}
	setStatus := func(state State, status RiderStatus) (changed bool, err error) {
		tracking.State = state
		changed, _, err = tracking.AddStatus(RiderUpdate{OrderID: 7, Status: status, Rider: asha}, 1)
		return changed, err
	}
	_, err := setStatus(Cancelled, Assigned)
	require.EqualError(t, err, "the order is Cancelled, so no rider can be assigned")
	require.Equal(t, core.Conflict, core.CodeOf(err))
	changed, err := setStatus(Dispatched, Assigned)
	require.NoError(t, err)
	require.True(t, changed)
	changed, err = setStatus(Cancelled, Assigned)
	require.NoError(t, err, "a repeat stays a repeat")
	require.False(t, changed)
	changed, err = setStatus(Cancelled, Unassigned)
	require.NoError(t, err)
	require.True(t, changed)
}

func TestRiderIsTrackedUntilTheOrderEnds(t *testing.T) {
	for _, state := range States() {
		for _, status := range append(RiderStatuses(), "") {
			require.Equal(t, state != Completed && state != Cancelled &&
				status != Delivered, Trackable(state, status), "%s %s", state, status)
		}
	}
}

func TestRiderStatusesPerOrderAreBounded(t *testing.T) {
	tracking := Tracking{DeliveryMode: SelfDelivery}
	for n := range maxRiderStatuses {
		_, _, err := tracking.AddStatus(RiderUpdate{Status: []RiderStatus{Assigned, Unassigned}[n%2]}, 1)
		require.NoError(t, err)
	}
	_, _, err := tracking.AddStatus(RiderUpdate{Status: Assigned}, 1)
	require.Equal(t, core.Conflict, core.CodeOf(err))
}

func TestEmptyRiderDataMayBeAnArray(t *testing.T) {
	for _, data := range []string{`[]`, `{}`, `null`} {
		update, err := DecodeRiderUpdate([]byte(`{"order_id":17,"status":"UNASSIGNED","rider_data":` + data + `}`))
		require.NoError(t, err, data)
		require.Equal(t, RiderUpdate{OrderID: 17, Status: Unassigned}, update)
	}
	_, err := DecodeRiderUpdate([]byte(`{"order_id":17,"status":"UNASSIGNED","rider_data":["Asha"]}`))
	require.ErrorContains(t, err, "rider_data must be an object")
	_, err = DecodeRiderLocation([]byte(`{"order_id":17,"location":[]}`))
	require.ErrorContains(t, err, "location.latitude is required")
}

func TestRidersAreMatchedByNormalizedPhoneNumbers(t *testing.T) {
	for _, row := range []struct {
		one, other string
		same       bool
	}{
		{"+1 (415) 555-0100", "4155550100", true}, {"+971501234567", "0501234567", true},
		{"00971501234567", "501234567", true},
		{"+65 9123 4567", "91234567", true}, {"+79121234567", "8 912 123 45 67", true},
		{"+354 555 0100", "5550100", true},
		{"0501234567", "0501234568", false}, {"+1 415 555 0100", "555 0101", false}, {"12345", "99912345", false},
		{"12-34", "1234", true}, {"none", "nobody", false},
	} {
		one, other := Rider{Phone: row.one}, Rider{Phone: row.other}
		require.Equal(t, []bool{row.same, row.same}, []bool{one.matches(other), other.matches(one)}, "%s and %s",
			row.one, row.other)
	}
}

func TestLocationIsReadFromStringOrNumber(t *testing.T) {
	for sent, want := range map[string]string{`"12.50"`: "12.5", `12.5`: "12.5", `"-90"`: "-90", `90`: "90",
		`"1e1"`: "10", `-0.000000001`: "-0.000000001", `"-0.00012780000000000402"`: "-0.000127800000000004"} {
		got, err := DecodeRiderLocation(fmt.Appendf(nil,
			`{"order_id":"17","location":{"latitude":%s,"longitude":"180"}}`, sent))
		require.NoError(t, err, sent)
		require.Equal(t, RiderLocation{OrderID: 17, Latitude: want, Longitude: "180"}, got)
	}
	for _, wrong := range []string{`""`, `"x"`, `true`, `[]`, `null`, `"90.000001"`, `-91`, `"1e999999999"`, `"NaN"`} {
		_, err := DecodeRiderLocation(fmt.Appendf(nil, `{"order_id":17,"location":{"latitude":%s,"longitude":0}}`,
			wrong))
		require.ErrorContains(t, err, "location.latitude", wrong)
	}
}

func FuzzRiderBodies(f *testing.F) {
	f.Add([]byte(`{"order_id":1,"status":"ASSIGNED","rider_data":{"rider_name":"A","rider_phone_number":1},` +
		`"location":{"latitude":"1","longitude":2}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if u, err := DecodeRiderUpdate(body); err == nil {
			require.Positive(t, u.OrderID)
			require.Contains(t, RiderStatuses(), u.Status)
		}
		if l, err := DecodeRiderLocation(body); err == nil {
			require.Positive(t, l.OrderID)
			require.NotEmpty(t, l.Latitude)
		}
	})
}
