package sdk

import (
	"slices"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// LineIDs returns the aggregator's ids of the lines and options of an order that have one of the ref_ids. It omits
// those without such an id.
func LineIDs(order *pb.Order, refIDs ...string) (ids []string) {
	add := func(refID, lineID string) {
		if lineID != "" && slices.Contains(refIDs, refID) {
			ids = append(ids, lineID)
		}
	}
	for _, item := range order.GetItems() {
		add(item.GetRefId(), item.GetLineId())
		for _, option := range item.GetOptions() {
			add(option.GetRefId(), option.GetLineId())
		}
	}
	return ids
}
