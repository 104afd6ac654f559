package main

import (
	"encoding/json"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
)

func TestOrdersAreReadByTheHubAndDifferInTheirNames(t *testing.T) {
	bodies, err := orderBodies("S-1")
	require.NoError(t, err)
	seen := map[core.Identifier]bool{}
	for n := range 3 * orderShapes {
		body := orderBody(bodies, n)
		draft, err := order.Decode(body)
		require.NoError(t, err)
		require.Len(t, draft.Items, 3)
		require.InDelta(t, 1200, len(body), 100)
		seen[draft.PlatformOrderID] = true
	}
	require.Len(t, seen, 3*orderShapes)
}

func TestOrderedMenuHoldsWhatOrdersName(t *testing.T) {
	menu, err := json.Marshal(orderedMenu())
	require.NoError(t, err)
	var known struct {
		Items, Options []struct {
			RefID string `json:"ref_id"`
		}
	}
	require.NoError(t, json.Unmarshal(menu, &known))
	require.Len(t, known.Items, orderedItems)
	refs := map[string]bool{}
	for _, entity := range append(known.Items, known.Options...) {
		refs[entity.RefID] = true
	}
	bodies, err := orderBodies("S-1")
	require.NoError(t, err)
	for n := range bodies {
		draft, err := order.Decode(orderBody(bodies, n))
		require.NoError(t, err)
		for _, line := range draft.Items {
			require.True(t, refs[line.RefID], line.RefID)
			require.True(t, refs[line.Options[0].RefID], line.Options[0].RefID)
		}
	}
}

func TestAtRateDoesEveryPieceOnce(t *testing.T) {
	const n = 40
	var times [n]atomic.Int32
	took, err := atRate(t.Context(), 1e6, n, 4, func(i int) error {
		times[i].Add(1)
		if i == 7 {
			return errMissed
		}
		return nil
	})
	require.ErrorIs(t, err, errMissed)
	for i := range times {
		require.EqualValues(t, 1, times[i].Load())
		require.Positive(t, took[i])
	}
}

func TestSpreadAddressesAreHostsOfTheirOwn(t *testing.T) {
	hosts := map[string]bool{}
	for i := range crowdBusinesses * crowdEvents {
		address := net.ParseIP(spreadAddress(i))
		require.True(t, address.IsLoopback(), spreadAddress(i))
		hosts[address.String()] = true
	}
	require.Len(t, hosts, crowdBusinesses*crowdEvents)
	require.Equal(t, "http://127.1.0.1:8080/hang", (&sink{url: "http://127.0.0.1:8080/hook"}).at(spreadAddress(0), hangPath))
}
