package aggregator

import (
	"cmp"

	"google.golang.org/protobuf/proto"

	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/relay"
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

// updateOf converts the change of an order. The order keeps its store, so that any id of it will do.
func updateOf(platform string, sent *sdk.OrderUpdate) (*order.FollowUp, error) {
	changed := sent.GetOrder()
	if changed.GetStoreRefId() == "" {
		changed = proto.CloneOf(changed)
		changed.StoreRefId = cmp.Or(changed.GetPlatformStoreId(), "-")
	}
	body, err := orderBody(platform, changed)
	if err != nil {
		return nil, err
	}
	return &order.FollowUp{Platform: platform, PlatformOrderID: sent.GetPlatformOrderId(),
		Update: &order.Update{ChangeID: sent.GetChangeId(), Reason: sent.GetReason(), Order: body}}, nil
}

// actionOutcome converts the outcome of an action, with the change of its order.
func actionOutcome(platform string, sent *sdk.ActionOutcome) (relay.Outcome, error) {
	outcome, err := outcomeOf(sent)
	if err != nil || sent.GetOrderUpdate() == nil {
		return outcome, err
	}
	outcome.FollowUp, err = updateOf(platform, sent.GetOrderUpdate())
	return outcome, err
}
