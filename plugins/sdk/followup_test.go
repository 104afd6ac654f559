package sdk_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

func TestOrderUpdateIsWhole(t *testing.T) {
	for says, spoil := range map[string]func(*sdk.OrderUpdate){
		"": func(*sdk.OrderUpdate) {},
		"platform_order_id: must be that of the update": func(u *sdk.OrderUpdate) { u.PlatformOrderId = "T-2" },
		"change_id: is required":                        func(u *sdk.OrderUpdate) { u.ChangeId = "" },
		"order: is required":                            func(u *sdk.OrderUpdate) { u.Order = nil },
		"order: items: at least one is required":        func(u *sdk.OrderUpdate) { u.Order.Items = nil },
	} {
		update := &sdk.OrderUpdate{PlatformOrderId: "T-1", ChangeId: "c", Order: &sdk.NewOrder{PlatformOrderId: "T-1",
			StoreRefId: "s", Items: []*pb.OrderItem{{RefId: "soup", Quantity: 1}}}}
		spoil(update)
		for _, answer := range []proto.Message{
			&sdk.Translation{Meaning: &pb.Translation_OrderUpdate{OrderUpdate: update}},
			&sdk.ActionOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE, OrderUpdate: update}} {
			if err := sdk.CheckResult(&sdk.Description{}, answer); says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, says)
			}
		}
	}
}

func TestReleaseNeedsItsOrder(t *testing.T) {
	for id, valid := range map[string]bool{"T-1": true, "": false} {
		translation, err := sdk.Released(id)
		require.NoError(t, err)
		require.Equal(t, valid, sdk.CheckResult(&sdk.Description{}, translation) == nil, id)
	}
}

func TestCourierReportNeedsOrderAndStatusOrLocation(t *testing.T) {
	for says, report := range map[string]*sdk.CourierReport{
		"": {PlatformOrderId: "T-1", Status: "AT-STORE"},
		"courier: platform_order_id: is required":         {Status: "ASSIGNED"},
		"courier: status: is required without a location": {PlatformOrderId: "T-1"},
		"courier: status: \"PARKED\" must be one of":      {PlatformOrderId: "T-1", Status: "PARKED"},
		"courier.name: must not contain the NUL character": {PlatformOrderId: "T-1", Status: "ASSIGNED",
			Name: "\x00"},
		"courier.location: needs latitude and longitude": {PlatformOrderId: "T-1", Location: &sdk.CourierLocation{}},
		"courier.location.latitude: \"1,5\" is no decimal number": {PlatformOrderId: "T-1",
			Location: &sdk.CourierLocation{Latitude: "1,5", Longitude: "2"}},
	} {
		translation, err := sdk.Courier(report)
		require.NoError(t, err)
		err = sdk.CheckResult(&sdk.Description{}, translation)
		if says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, says)
	}
}
