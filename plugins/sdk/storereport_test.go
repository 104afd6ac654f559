package sdk

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/servery-hub/servery/plugins/proto"
)

func TestStoreReportsNameStoreAndState(t *testing.T) {
	check := func(report *StoreReport) error {
		translation, err := ReportedStore(report)
		require.NoError(t, err)
		return CheckResult(&Description{}, translation)
	}
	closed := pb.StoreState_STORE_STATE_CLOSED
	require.NoError(t, check(&StoreReport{PlatformStoreId: "77", State: closed}))
	require.NoError(t, check(&StoreReport{StoreRefId: "s1", State: pb.StoreState_STORE_STATE_OPEN}))
	require.ErrorContains(t, check(&StoreReport{State: closed}), "names no store")
	require.ErrorContains(t, check(&StoreReport{StoreRefId: "s1"}), "the state 0 is none")
	require.ErrorContains(t, check(&StoreReport{StoreRefId: "s1", State: 9}), "the state 9 is none")
	require.ErrorContains(t, check(&StoreReport{StoreRefId: "s1", State: closed, Until: -1}), "a time is negative")
	require.ErrorContains(t, check(&StoreReport{StoreRefId: "s1", State: closed,
		Reason: strings.Repeat("x", MaxStoreReason+1)}), "reason: must have at most")
}

func TestMenuRequestsNameStore(t *testing.T) {
	for id, valid := range map[string]bool{"77": true, "": false} {
		translation, err := RequestedMenu(id)
		require.NoError(t, err)
		require.Equal(t, valid, CheckResult(&Description{}, translation) == nil, id)
	}
}
