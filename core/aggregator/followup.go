package aggregator

import (
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/plugins/sdk"
)

// courierOf converts a report about a platform's courier.
func courierOf(platform string, sent *sdk.CourierReport) *order.FollowUp {
	report := &order.CourierReport{Status: order.RiderStatus(sent.GetStatus()),
		Rider: order.Rider{Name: sent.GetName(), Phone: sent.GetPhone()}}
	if at := sent.GetLocation(); at != nil {
		report.Location = &order.Location{Latitude: at.GetLatitude(), Longitude: at.GetLongitude(), At: at.GetAt()}
	}
	return &order.FollowUp{Platform: platform, PlatformOrderID: sent.GetPlatformOrderId(), Courier: report}
}
