package sdk_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/plugins/sdk"
)

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
