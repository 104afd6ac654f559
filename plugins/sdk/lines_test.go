package sdk_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

func TestLineIDsAreFoundByRefID(t *testing.T) {
	order := &pb.Order{Items: []*pb.OrderItem{
		{RefId: "dal", LineId: "1", Options: []*pb.OrderOption{{RefId: "hot", LineId: "2"}, {RefId: "mild"}}},
		{RefId: "rice", LineId: "3"}, {RefId: "dal", LineId: "4"}}}
	require.Equal(t, []string{"1", "2", "4"}, sdk.LineIDs(order, "hot", "dal", "mild", "none"))
	require.Empty(t, sdk.LineIDs(order))
}
